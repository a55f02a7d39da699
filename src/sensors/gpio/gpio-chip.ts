/** Which way a line points. */
export type GpioDirection = 'input' | 'output';
/** What holds a line that nobody drives. `as-is` leaves what the firmware or the kernel has set. */
export const GPIO_BIASES = ['as-is', 'disabled', 'pull-up', 'pull-down'] as const;
export type GpioBias = (typeof GPIO_BIASES)[number];
/** Which changes of an input are told; of its active state, so that an active-low line rises when its voltage falls. */
export const GPIO_EDGES = ['both', 'rising', 'falling'] as const;
export type GpioEdgeSelection = (typeof GPIO_EDGES)[number];

/** A line as the kernel shows it, whoever uses it. */
export interface GpioLineInfo {
  /** Place within its chip, from 0; the only number that is the same on every kernel. */
  readonly offset: number;
  /** The board's name for it, such as `GPIO17`; empty where the firmware gives none. */
  readonly name: string;
  /** Who has it, such as `spi0 CS0`; empty for a line that is free. */
  readonly consumer: string;
  readonly isUsed: boolean;
  readonly direction: GpioDirection;
}

/** An input to take. */
export interface GpioInputRequest {
  readonly offset: number;
  readonly isActiveLow: boolean;
  readonly bias: GpioBias;
  readonly edge: GpioEdgeSelection;
  /** How long a new state has to last before it counts; 0 for none. */
  readonly debounceMs: number;
}

/** An output to take. */
export interface GpioOutputRequest {
  readonly offset: number;
  readonly isActiveLow: boolean;
  /** State from the moment on that the line is ours. */
  readonly isActive: boolean;
}

/** A change that an input went through. */
export interface GpioEdge {
  readonly edge: 'rising' | 'falling';
  /** How long ago it was when it is told, by the kernel's own time stamp where there is one. */
  readonly ageMs: number;
  /** Changes of the same line that were lost right before this one. */
  readonly missed: number;
}

/** An input that is ours until it is disposed. */
export interface GpioInput extends Disposable {
  /** DEVICE_UNREACHABLE when the chip is gone. */
  isActive(): boolean;
}

/** An output that is ours until it is disposed; what the line does then is up to the chip. */
export interface GpioOutput extends Disposable {
  /** What it was last told, as the chip reads it back. DEVICE_UNREACHABLE when the chip is gone. */
  isActive(): boolean;
  /** In force when it returns: also the handler of a dying process can call it. DEVICE_UNREACHABLE when the chip is gone. */
  set(isActive: boolean): void;
}

/**
 * Port: the lines of one GPIO chip. All calls take microseconds on a chip of the processor and are synchronous. A line belongs to one
 * owner at a time: CONFLICT for one that somebody has, NOT_SUPPORTED for what the chip cannot do, NOT_FOUND for an offset that it has not.
 */
export interface GpioChip extends Disposable {
  /** `gpiochip0`: changes between starts, so it is for people only. */
  readonly name: string;
  /** What the driver calls it, such as `pinctrl-rp1`: the same after every start. */
  readonly label: string;
  lines(): readonly GpioLineInfo[];
  /** `onEdge` gets every change from now on, oldest first, never from within this call. */
  requestInput(request: GpioInputRequest, onEdge: (edge: GpioEdge) => void): GpioInput;
  requestOutput(request: GpioOutputRequest): GpioOutput;
}

/** The offset of a line by its number or by the board's name for it; undefined where the chip has none such. */
export function findLine(lines: readonly GpioLineInfo[], wanted: number | string): number | undefined {
  return lines.find(({ offset, name }) => (typeof wanted === 'number' ? offset === wanted : name === wanted))?.offset;
}

/** The call, which does nothing from the second time on: who gives a line back once more must not take it from its next owner. */
export function onlyOnce(call: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    call();
  };
}
