/** A message of a topic, as it came. */
export interface MqttMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** Kept by the broker from before: it tells what was, and is no wish of now. */
  readonly isRetained: boolean;
}

/** What the broker tells for a client that goes away without a word (MQTT 5.0 §3.1.2.5). */
export interface MqttWill {
  readonly topic: string;
  readonly payload: string;
}

/** Port: one connection to the broker of the house, made on the first use and made again whenever it breaks. */
export interface MqttLink extends AsyncDisposable {
  /**
   * Resolves when the broker took the message (QoS 1), and where it can tell, when somebody listens to the topic. Errors:
   * SERVICE_UNAVAILABLE (no connection; the message is not kept for later), SERVICE_REFUSED, OUTCOME_UNKNOWN (sent and not answered).
   */
  deliver(topic: string, payload: string, signal: AbortSignal): Promise<void>;
  /** Lets the broker keep a state; an empty one takes it away. Nothing happens while there is no connection. */
  retain(topic: string, payload: string): void;
  /** Tells whoever listens now. Nothing happens while there is no connection. */
  tell(topic: string, payload: string): void;
  /** Connects and stays connected; `onUp` runs after each time that it succeeded, with nothing subscribed yet. */
  open(listeners: MqttListeners, will: MqttWill): void;
  /** Until the connection breaks; then `onUp` has to say it again. */
  subscribe(filters: readonly string[]): void;
}

/** Who hears what happens on a link. */
export interface MqttListeners {
  readonly onUp: () => void;
  readonly onMessage: (message: MqttMessage) => void;
}
