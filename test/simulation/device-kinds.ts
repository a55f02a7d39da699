/** The kind of device of which every command needs an approval. */
export const GUARDED = 'lock';
/** The kind of device of which a command may be repeated. */
export const REPEATABLE = 'light';
/** What simulated devices are: a light takes the same command twice, a feeder must not, a lock needs an approval. */
export const DEVICE_KINDS = [REPEATABLE, 'feeder', GUARDED] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];

/** Name of the tool with which a machine controls its device of a kind. */
export function deviceTool(kind: DeviceKind, machine: string): string {
  return `sim:${kind}_${machine.replaceAll('-', '_')}`;
}

/** Name of the tool of a machine that its configuration disables. */
export function forbiddenTool(machine: string): string {
  return `sim:siren_${machine.replaceAll('-', '_')}`;
}

/** Name of the tool of steps that an agent has made on a machine. */
export function routineTool(machine: string): string {
  return `agent:routine_${machine.replaceAll('-', '_')}`;
}

/** The kind of device that a tool controls. */
export function kindOf({ tool }: { readonly tool: string }): string {
  return tool.replace(/^sim:|_.*$/g, '');
}
