/** Resistor of an undriven line. `as-is` leaves the setting of the firmware or the kernel. */
export const GPIO_BIASES = ['as-is', 'disabled', 'pull-up', 'pull-down'] as const;
export type GpioBias = (typeof GPIO_BIASES)[number];
/** Emitted changes of an input, those of its active state: an active-low line rises when its voltage falls. */
export const GPIO_EDGES = ['both', 'rising', 'falling'] as const;
export type GpioEdgeSelection = (typeof GPIO_EDGES)[number];

/** A line in the view of the kernel, with any user. */
export interface GpioLineInfo {
  /** Number within its chip, from 0; only this number is the same on every kernel. */
  readonly offset: number;
  /** The board's name for it, such as `GPIO17`; empty where the firmware has none. */
  readonly name: string;
  /** User of the line, such as `spi0 CS0`; empty for a free line. */
  readonly consumer: string;
  readonly isUsed: boolean;
  readonly direction: 'input' | 'output';
}

/** An input to take. */
export interface GpioInputRequest {
  readonly offset: number;
  readonly isActiveLow: boolean;
  readonly bias: GpioBias;
  readonly edge: GpioEdgeSelection;
  /** Shortest duration of a new state; 0 for any. */
  readonly debounceMs: number;
}

/** An output to take. */
export interface GpioOutputRequest {
  readonly offset: number;
  readonly isActiveLow: boolean;
  /** Initial state. */
  readonly isActive: boolean;
}

/** A change of an input. */
export interface GpioEdge {
  readonly edge: 'rising' | 'falling';
  /** Age when it is emitted, by the time stamp of the kernel where there is one. */
  readonly ageMs: number;
  /** Number of changes of the same line that were lost directly before. */
  readonly missed: number;
}

/** An input that is ours until it is disposed. */
export interface GpioInput extends Disposable {
  /** DEVICE_UNREACHABLE when the chip is gone. */
  isActive(): boolean;
}

/** An output that is ours until it is disposed; the chip decides its state afterwards. */
export interface GpioOutput extends Disposable {
  /** The last state that was set, read back from the chip. DEVICE_UNREACHABLE when the chip is gone. */
  isActive(): boolean;
  /** Is in force when it returns, so that an exit handler can call it. DEVICE_UNREACHABLE when the chip is gone. */
  set(isActive: boolean): void;
}

/**
 * Port: the lines of one GPIO chip. All calls take microseconds on a chip of the processor and are synchronous. A line has one user at a
 * time: CONFLICT for a line in use, NOT_SUPPORTED for a request that the chip cannot fulfil, NOT_FOUND for an unknown offset.
 */
export interface GpioChip extends Disposable {
  /** `gpiochip0`: changes between starts, so it is for people only. */
  readonly name: string;
  /** The driver's name, such as `pinctrl-rp1`: the same after every start. */
  readonly label: string;
  lines(): readonly GpioLineInfo[];
  /** `onEdge` is called for each later change, the oldest first, and never from within this call. */
  requestInput(request: GpioInputRequest, onEdge: (edge: GpioEdge) => void): GpioInput;
  requestOutput(request: GpioOutputRequest): GpioOutput;
}

/** The offset of a line by its number or by the board's name for it; undefined for an unknown line. */
export function findLine(lines: readonly GpioLineInfo[], wanted: number | string): number | undefined {
  return lines.find(({ offset, name }) => (typeof wanted === 'number' ? offset === wanted : name === wanted))?.offset;
}

/** A function that calls `call` only the first time: a second disposal must not take the line from its next user. */
export function onlyOnce(call: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    call();
  };
}
