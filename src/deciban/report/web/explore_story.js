// A story of six steps for a newcomer: text, and the state that it speaks of.

const TWO = [
  [1.4, -0.2, -1.2],
  [0.9, 1.5, -2.4],
]; // nats; for three hypotheses

/** Show the step of the state; the buttons go on and back. */
export function makeStory(section, { state, first }) {
  const steps = [...section.querySelectorAll(".steps > li")];
  const go = (step) => state.set({ ...stateOf(steps[step - 1], state.get(), first), step });
  const buttons = section.querySelector(".story-buttons");
  buttons.hidden = false;
  const [back, next, end] = ["back", "next", "end"].map((name) => buttons.querySelector(`[data-go=${name}]`));
  back.addEventListener("click", () => go(state.get().step - 1));
  next.addEventListener("click", () =>
    state.get().step < steps.length ? go(state.get().step + 1) : state.set({ step: 0 })
  );
  end.addEventListener("click", () => state.set({ step: 0 }));
  document.getElementById("start-story").addEventListener("click", () => go(1));

  return function draw({ step }) {
    section.hidden = step === 0;
    document.getElementById("start-story").hidden = step !== 0;
    steps.forEach((one, i) => (one.hidden = i + 1 !== step));
    back.disabled = step <= 1;
    next.textContent = step < steps.length ? "Next" : "Finish";
    section.querySelector("[data-box=where]").textContent = `Step ${step} of ${steps.length}`;
  };
}

/** The values that a step asks for; words stand for values that depend on the hypotheses. */
function stateOf(element, { names }, first) {
  const values = JSON.parse(element?.dataset.state ?? "{}"), D = names.length;
  if ("prior" in values) values.prior = names.map(() => 1 / D);
  if (values.pieces === "two")
    values.pieces = D === 3 ? TWO : [0, 1].map((i) => names.map((_, k) => (k === i ? Math.LN10 : 0) - Math.LN10 / D));
  values.costs = names.map((_, i) =>
    names.map((_, j) => (i === j ? 0 : values.costs === "severe" && i === 1 && j === 0 ? 5 : 1))
  );
  return { ...values, reject: values.reject ?? first.reject };
}
