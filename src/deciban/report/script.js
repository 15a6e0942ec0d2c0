// Shows the numbers behind a figure on hovering and by the arrow keys. The page works without it.
for (const plot of document.querySelectorAll(".plot")) {
  const { snap, marks } = JSON.parse(plot.querySelector(".marks").textContent);
  if (!marks.length) continue;
  const svg = plot.querySelector(".drawing"), cursor = svg.querySelector(".cursor");
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  plot.append(tip);
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", plot.dataset.title + ": " + marks.length + " places; arrow keys read them");
  let at = -1;

  const hide = () => plot.classList.remove("active");
  const show = (index) => {
    at = index;
    const [x, y, words] = marks[index];
    cursor.setAttribute("cx", x);
    cursor.setAttribute("cy", y);
    tip.textContent = words;
    plot.classList.add("active");
    const scale = svg.clientWidth / svg.viewBox.baseVal.width, half = tip.offsetWidth / 2;
    const left = Math.min(Math.max(x * scale, half), plot.clientWidth - half) - half;
    const above = y * scale - tip.offsetHeight - 12;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = (above < 0 ? y * scale + 14 : above) + "px";
  };
  const nearest = (event) => {
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
    let best = -1, least = snap === "x" ? 30 : 22;
    marks.forEach(([a, b], index) => {
      const distance = snap === "x" ? Math.abs(a - x) + Math.abs(b - y) / 1e4 : Math.hypot(a - x, b - y);
      if (distance < least) { least = distance; best = index; }
    });
    return best;
  };
  svg.addEventListener("pointermove", (event) => {
    const index = nearest(event);
    if (index < 0) hide(); else if (index !== at || !plot.classList.contains("active")) show(index);
  });
  svg.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const last = marks.length - 1, leap = Math.max(1, Math.round(marks.length / 20));
    const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowUp: at + leap, ArrowDown: at - leap, Home: 0, End: last };
    if (event.key === "Escape") hide();
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(Math.min(Math.max(steps[event.key], 0), last));
  });
}
