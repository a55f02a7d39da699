import { commandOf } from '../device-verbs.ts';

export const halfCommissioned = commandOf({
  name: 'half-commissioned',
  summary: 'devices whose commissioning was cut off, and what to do',
  examples: ['half-commissioned'],
  tool: 'hub:half_commissioned',
  columns: ['id', 'step', 'advice'],
  params: () => ({}),
});

export const forget = commandOf({
  name: 'forget',
  summary: 'forget a half commissioned device after you have reset it',
  examples: ['forget 2f9c'],
  tool: 'hub:forget_half_commissioned',
  operands: [{ name: 'ID', help: "id that 'half-commissioned' shows" }],
  params: (call) => ({ id: call.operand(0) }),
});
