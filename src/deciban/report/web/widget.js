// The widget of notebooks: a page in a frame of its own. anywidget asks for the default export.

/** From 0 (black) to 1 (white); null where a color is hardly there. */
function brightness(color) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b, alpha] = pen.getImageData(0, 0, 1, 1).data;
  return alpha < 128 ? null : (r + g + b) / 765;
}

/** Whether a notebook is dark where an element stands: each names its themes in its own way, but colors tell. */
function isDark(element) {
  for (let one = element; one; one = one.parentElement ?? one.getRootNode().host) {
    const ground = brightness(getComputedStyle(one).backgroundColor);
    if (ground !== null) return ground < 0.5;
  }
  return brightness(getComputedStyle(element).color) > 0.5;
}

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  Object.assign(frame.style, { width: "100%", border: "0", display: "block" });
  const show = {
    html: () => (frame.srcdoc = model.get("html")),
    name: () => (frame.title = model.get("name")),
    height: () => (frame.style.height = `${model.get("height")}px`),
  };
  for (const [trait, draw] of Object.entries(show)) {
    draw();
    model.on(`change:${trait}`, draw);
  }
  el.append(frame);
  // The page prefers the colors that its frame has: those of the notebook, once it stands there and when it changes.
  const follow = () => frame.isConnected && (frame.style.colorScheme = isDark(el) ? "dark" : "light");
  const [size, theme] = [new ResizeObserver(follow), new MutationObserver(follow)];
  size.observe(frame);
  for (const root of [document.documentElement, document.body]) theme.observe(root, { attributes: true });
  return () => [size, theme].forEach((observer) => observer.disconnect());
}

export default { render };
