// The cart: what the visitor wants, and the Session that it is paid by. One for all tabs of this browser; it is read from the browser's storage
// each time, so that no tab works with an old one.

const KEY = "stillwater.cart";

/** A cart without anything; a visitor keeps the country and the currency. */
function fresh(kept = {}) {
  const { Currency = "EUR", Country = "IE", AutoCapture = true } = kept;
  return { CartId: crypto.randomUUID(), SessionId: null, Changed: false, Currency, Country, AutoCapture, Lines: [] };
}

/** The cart as it is now. `Changed` says that it is not what its Session was made for. */
export function cart() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY));
    if (kept !== null && Array.isArray(kept.Lines) && typeof kept.CartId === "string") return kept;
  } catch {
    // Unreadable: as good as none.
  }
  return write(fresh());
}

function write(next) {
  localStorage.setItem(KEY, JSON.stringify(next));
  return next;
}

/** Changes members of the cart. */
export function saveCart(changes) {
  write({ ...cart(), ...changes });
}

/** So many pieces of a thing; none of it takes it out. */
export function setQuantity(id, quantity) {
  const { Lines } = cart();
  const others = Lines.filter((line) => line.Id !== id);
  const at = Lines.findIndex((line) => line.Id === id);
  if (quantity > 0) others.splice(at < 0 ? others.length : at, 0, { Id: id, Quantity: quantity });
  saveCart({ Lines: others, Changed: true });
}

/** The payment has begun for good: a new cart, empty unless the old one was changed after its payment had begun. */
export function closeCart() {
  const { Changed, Lines, ...kept } = cart();
  write({ ...fresh(kept), Lines: Changed ? Lines : [] });
}

/** Calls `listener` when another tab changed the cart. */
export function listenToOtherTabs(listener) {
  window.addEventListener("storage", ({ key }) => key === KEY && listener());
}
