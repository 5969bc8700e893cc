// Entry of wallet.js: what only shoppers with a wallet need. The shell and the frame load it when there is one.

export { WalletButtons } from "./buttons";
export { answer } from "./session";
