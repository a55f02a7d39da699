/** Kinds of events by the beginning of their types, in words. */
export const EVENT_KINDS: ReadonlyMap<string, string> = new Map([
  ['sensor.', 'Readings'],
  ['device.', 'Devices'],
  ['agi.tool.', 'Tools and calls'],
  ['approval.', 'Approvals'],
  ['job.', 'Long work'],
  ['agent.', 'Agents'],
  ['token.', 'Tokens'],
  ['rules.', 'Rules'],
  ['mesh.', 'Mesh'],
  ['peer.', 'Other hubs'],
  ['hub.', 'Warnings of the hub'],
]);
