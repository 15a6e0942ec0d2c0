// A page of figures: each is drawn when it comes into sight, and again when its view or its width changes.

import { onNewColors } from "./colors.js";

/**
 * Keep the figures of a page drawn.
 *
 * @param figures functions (box, view) by the name in data-figure
 * @param state store of what a reader has chosen
 * @param makeView (values) => what the figures are drawn from
 */
export function keepDrawn(figures, state, makeView) {
  const boxes = [...document.querySelectorAll("[data-figure]")];
  const seen = new Set();
  let view = null, stale = new Set(boxes);

  // Only what a reader sees is drawn; the rest when it comes into sight, and for print.
  const refresh = (isPrint) => {
    for (const box of boxes) if ((isPrint === true || seen.has(box)) && stale.delete(box)) draw(figures, box, view);
  };
  const renew = (which = boxes) => {
    stale = new Set([...stale, ...which]);
    requestAnimationFrame(refresh);
  };
  state.subscribe((values) => {
    view = makeView(values);
    renew();
  });
  observeSight(boxes, (box, isSeen) => {
    seen[isSeen ? "add" : "delete"](box);
    refresh();
  });
  observeWidths(boxes, renew);
  onNewColors((isPrint) => {
    state.set({});
    refresh(isPrint); // at once: print does not wait for the next frame
  });
}

/** Draw a figure, or say why it cannot be drawn, so that the others stand. */
function draw(figures, box, view) {
  try {
    figures[box.dataset.figure](box, { ...view, width: Math.max(240, box.clientWidth) });
  } catch (error) {
    console.error(error);
    box.replaceChildren(
      Object.assign(document.createElement("p"), { className: "missing", textContent: `Not drawn: ${error.message}` })
    );
  }
}

function observeSight(boxes, listener) {
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) listener(target, isIntersecting);
    },
    { rootMargin: "600px" }
  );
  for (const box of boxes) observer.observe(box);
}

function observeWidths(boxes, renew) {
  const widths = new Map(boxes.map((box) => [box, box.clientWidth]));
  const observer = new ResizeObserver((entries) => {
    const changed = entries.map((e) => e.target).filter((box) => Math.abs(box.clientWidth - widths.get(box)) > 4);
    for (const box of changed) widths.set(box, box.clientWidth);
    if (changed.length) renew(changed);
  });
  for (const box of boxes) observer.observe(box);
}
