// The drop-in as a Vue component: settings are props, callbacks are events.

import { defineComponent, h, onBeforeUnmount, onMounted, ref, watch, type PropType } from "vue";
import type {
  DropinAttempt, DropinChange, DropinError, DropinInstance, DropinOptions, DropinRedirect, DropinResult, DropinSelection,
} from "./index.js";
import { mount } from "./mount.js";

/** `onReady` as `ready`. */
const eventOf = (callback: string): string => callback.charAt(2).toLowerCase() + callback.slice(3);

export const DropinPayment = defineComponent({
  name: "DropinPayment",
  props: {
    /** `{asset_url}` of your payment service. */
    assetUrl: { type: String, required: true },
    /** The SessionId that your server received. Nothing is shown while there is none. */
    sessionId: String,
    locale: String,
    headingLevel: Number as PropType<DropinOptions["headingLevel"]>,
    hideSubmitButton: { type: Boolean, default: undefined },
    version: String,
    integrity: String,
    nonce: String,
  },
  emits: {
    success: (_result: DropinResult) => true,
    continue: () => true,
    ready: () => true,
    change: (_change: DropinChange) => true,
    methodSelected: (_selection: DropinSelection) => true,
    attemptFailed: (_attempt: DropinAttempt) => true,
    redirect: (_redirect: DropinRedirect) => true,
    failure: (_error: DropinError) => true,
    submitEnabledChange: (_isEnabled: boolean) => true,
  },
  setup(props, { emit, expose }) {
    const host = ref<HTMLElement | null>(null);
    let instance: DropinInstance | undefined;
    const end = (): void => {
      instance?.destroy();
      instance = undefined;
    };
    const begin = (): void => {
      end();
      if (host.value !== null && props.sessionId) {
        instance = mount(host.value, { ...props }, (name, ...given) => (emit as (event: string, ...given: readonly unknown[]) => void)(eventOf(name), ...given));
      }
    };
    onMounted(begin);
    watch(() => ({ ...props }), begin);
    onBeforeUnmount(end);
    expose({
      submitPayment: () => instance?.submitPayment(),
      unselectPaymentMethod: () => instance?.unselectPaymentMethod(),
    });
    return () => h("div", { ref: host });
  },
});
