/** Id of the device to which all lines of the board belong, and namespace of the tools of its outputs. */
export const GPIO_DEVICE = 'gpio';

/** The ids that belong to one line of the board. */
export interface GpioLineIds {
  /** Id of the line's sensor, which is also the target of the effects of its tools. */
  readonly sensor: string;
  /** What a call of the line's tools needs. */
  readonly permission: string;
  /** Returns the name of the tool for an action, such as `turn_on`, inside the namespace. */
  readonly toolName: (action: string) => string;
  /** Returns the same name with the namespace. */
  readonly tool: (action: string) => string;
}

/** Returns the ids of the line with this name. */
export function gpioIds(line: string): GpioLineIds {
  const toolName = (action: string) => `${line}_${action}`;
  return {
    sensor: `${GPIO_DEVICE}/${line}`,
    permission: `device:control:${line}`,
    toolName,
    tool: (action) => `${GPIO_DEVICE}:${toolName(action)}`,
  };
}
