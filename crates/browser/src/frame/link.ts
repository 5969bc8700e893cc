// The frame's end of the port.

import { isPortOffer, isShellMessage, type FrameMessage, type ShellMessage } from "../shared/protocol";

export interface Offer {
  readonly origin: string;
  readonly port: MessagePort;
}

/** The first port offered by the page that embeds us. Nobody else is listened to, and there is no second chance. */
export function portOffer(): Promise<Offer> {
  return new Promise((resolve) => {
    const listen = (event: MessageEvent): void => {
      const port = event.ports[0];
      if (window.parent === window || event.source !== window.parent || port === undefined || !isPortOffer(event.data)) return;
      window.removeEventListener("message", listen);
      resolve({ origin: event.origin, port });
    };
    window.addEventListener("message", listen);
  });
}

export class Link {
  constructor(private readonly port: MessagePort) {}

  listen(heard: (message: ShellMessage) => void): void {
    this.port.onmessage = (event) => {
      if (isShellMessage(event.data)) heard(event.data);
    };
  }

  send(message: FrameMessage): void {
    this.port.postMessage(message);
  }

  /** The end, and why; an empty title leaves the words to the shell. `message` is what the service says for the page's developer. */
  fail(code: string, message: string, title: string, text: string): void {
    const { lang, dir } = document.documentElement;
    this.send({ type: "fail", code, message, title, text, lang, dir });
  }
}
