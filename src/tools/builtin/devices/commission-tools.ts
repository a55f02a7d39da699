import { COMMISSION_STEPS, type CommissionRequest } from '../../../core/devices/device-administration.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p, type ValuesOf } from '../../schema/parameter-builder.ts';
import { snakeJson } from '../../schema/snake-json.ts';
import { type AdminPorts, done, FOR_HUB, HUB_ACTS, HUB_READS, SUCCESS } from './admin-declaration.ts';

const COMMISSION_TIMEOUT_MS = 180_000;

const commissionParameters = {
  code: p.string({ description: 'QR text (MT:…) or manual code of 11 or 21 digits', maxLength: 128, secret: true }).optional(),
  passcode: p.integer({ description: 'Instead of a code', minimum: 1, maximum: 99_999_998, secret: true }).optional(),
  discriminator: p.integer({ description: 'With passcode', minimum: 0, maximum: 4095 }).optional(),
  address: p
    .object(
      {
        host: p.string({ description: 'IP address', maxLength: 64 }),
        port: p.integer({ description: 'UDP port', minimum: 1, maximum: 65_535, default: 5540 }),
      },
      { description: 'Known address: no discovery' },
    )
    .optional(),
  name: p.string({ description: 'Name for people', maxLength: 64 }).optional(),
  area: p.string({ description: 'Room', maxLength: 64 }).optional(),
  wifi: p.string({ description: 'Name of a stored Wi-Fi credential set: commissions over Bluetooth', maxLength: 64 }).optional(),
  thread: p.string({ description: 'Name of a stored Thread credential set: commissions over Bluetooth', maxLength: 64 }).optional(),
  attestation: p.enum(['strict', 'ask', 'off'], { description: 'What to do about a device that cannot prove its maker' }).optional(),
  accept_attestation: p.boolean({ description: 'A person has seen the findings and accepts them' }).optional(),
};

/** Tools that bring devices in. */
export function commissionTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [commissionDeviceTool(ports), halfCommissionedTool(ports), forgetTool(ports)];
}

function commissionDeviceTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'commission_device',
      title: 'Add a device',
      description: 'Commissions a Matter device by its setup code, QR text or passcode, and answers the devices that came with it.',
      isAsyncAllowed: true,
      timeoutMs: COMMISSION_TIMEOUT_MS,
      tags: ['matter', 'pair', 'add device'],
      parameters: commissionParameters,
      returns: {
        type: 'object',
        required: ['node_id', 'devices', 'findings'],
        properties: { node_id: { type: 'string' }, devices: { type: 'array' }, findings: { type: 'array', items: { type: 'string' } } },
      },
    },
    async (params, { signal, progress }) =>
      snakeJson(
        await administration.commission(commissionRequest(params), {
          signal,
          onProgress: ({ step, note }) => progress(COMMISSION_STEPS.indexOf(step) / (COMMISSION_STEPS.length - 1), `${step}: ${note}`),
        }),
      ),
  );
}

function commissionRequest(params: ValuesOf<typeof commissionParameters>): CommissionRequest {
  const { accept_attestation: acceptAttestation, ...rest } = params;
  return { ...rest, ...(acceptAttestation !== undefined && { acceptAttestation }) };
}

function halfCommissionedTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_HUB,
      name: 'half_commissioned',
      title: 'Interrupted commissionings',
      description: 'Lists devices whose commissioning was interrupted, with what to do about each.',
      parameters: {},
    },
    async () => snakeJson(administration.halfCommissioned()),
  );
}

function forgetTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'forget_half_commissioned',
      title: 'Forget an interrupted commissioning',
      description: 'Forgets a half commissioned device after you have reset it.',
      isIdempotent: true,
      parameters: { id: p.string({ description: 'Id from half_commissioned', maxLength: 128 }) },
      returns: done,
    },
    async ({ id }) => {
      administration.forget(id);
      return SUCCESS;
    },
  );
}
