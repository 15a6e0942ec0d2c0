// The widget of notebooks: a page in a frame of its own. anywidget asks for the default export.

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
}

export default { render };
