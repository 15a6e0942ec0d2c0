// The address of a page, which holds what a reader has chosen. In the frame of a notebook there is none.

/** Whether the page has an address of its own. */
export const hasAddress = location.protocol !== "about:";

const PAUSE = 400; // milliseconds that allow one more change of the address
const BURST = 20; // changes that need not wait
let allowed = BURST,
  counted = 0,
  waiting = 0,
  wanted = null; // address that is still to be written

/**
 * Change the address without leaving the page: at once, or after a pause where it has been changed very often.
 *
 * Browsers refuse more than a hundred changes in half a minute (Safari), and a drag makes more.
 */
export function writeAddress(address) {
  if (!hasAddress) return;
  const now = performance.now();
  allowed = Math.min(BURST, allowed + (now - counted) / PAUSE);
  [counted, wanted] = [now, address];
  clearTimeout(waiting);
  if (allowed >= 1) write();
  else waiting = setTimeout(write, (1 - allowed) * PAUSE);
}

function write() {
  clearTimeout(waiting);
  if (wanted === null) return;
  allowed -= 1;
  history.replaceState(null, "", wanted);
  wanted = null;
}

/** Put the address into the clipboard, and say so on the button. */
export async function copyLink(button) {
  write();
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy the address instead";
  }
  setTimeout(() => (button.textContent = "Copy link"), 2000);
}

/**
 * Let links to parts of the page scroll there without a change of the address: it would lose what a reader
 * has chosen and, in a notebook, lead to the notebook itself.
 */
export function keepLinksInside() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const part = document.getElementById(link.hash.slice(1));
    if (!part) return;
    scrollTo(part);
    if (!part.hasAttribute("tabindex")) part.tabIndex = -1;
    part.focus({ preventScroll: true }); // so that the next Tab goes on from there
  });
}

/** Bring a part of the page to the top, and keep it there while the figures around it are drawn and take their room. */
function scrollTo(part) {
  const follow = new ResizeObserver(() => part.scrollIntoView({ behavior: "instant" }));
  follow.observe(document.body); // it calls at once, too
  const stop = () => follow.disconnect();
  for (const event of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(event, stop, { once: true });
  setTimeout(stop, 2000);
}
