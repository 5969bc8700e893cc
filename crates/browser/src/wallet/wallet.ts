// Entry of wallet.js: what only shoppers with a wallet need. The shell and the frame load it when there is one.

export { WalletButton } from "./button";
export { answer } from "./session";
