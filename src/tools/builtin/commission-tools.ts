import { COMMISSION_STEPS, type CommissionRequest, type RecognisedDevice } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { defineTool, p, resultSchema, TEXT, TEXTS, type ValuesOf } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { NamingPorts } from '../names/name-references.ts';
import { copyJsonObject, snakeJson } from '../schema/plain-json.ts';
import { namingWarnings } from './device-name-tools.ts';
import { ACTS_ON_HUB, type AdminPorts, actsOnDevice, DONE, deviceOf, deviceParameter, READS_WHOLE_HUB, SUCCESS } from './hub-tool.ts';

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
  name: p.string({ description: 'Name for people', maxLength: 64, isGivenName: true }).optional(),
  area: p.string({ description: 'Room', maxLength: 64, isGivenName: true }).optional(),
  wifi: p.string({ description: 'Name of a stored Wi-Fi credential set: commissions over Bluetooth', maxLength: 64 }).optional(),
  thread: p.string({ description: 'Name of a stored Thread credential set: commissions over Bluetooth', maxLength: 64 }).optional(),
  attestation: p.enum(['strict', 'ask', 'off'], { description: 'What to do about a device that cannot prove its maker' }).optional(),
  accept_attestation: p.boolean({ description: 'A person has seen the findings and accepts them' }).optional(),
};

/** Returns the tools that commission devices. */
export function commissionTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [commissionDeviceTool(ports), recognisedTool(ports), restoreTool(ports), halfCommissionedTool(ports), forgetTool(ports)];
}

function commissionDeviceTool({ administration, naming }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'commission_device',
      title: 'Add a device',
      description: 'Commissions a Matter device by its setup code, QR text or passcode, and answers the devices that came with it.',
      isAsyncAllowed: true,
      timeoutMs: COMMISSION_TIMEOUT_MS,
      tags: ['matter', 'pair', 'add device'],
      parameters: commissionParameters,
      returns: resultSchema(
        {
          node_id: TEXT,
          devices: { type: 'array' },
          findings: TEXTS,
          recognised: {
            type: 'array',
            description: 'Devices that seem to have been here before; restore_device gives them their former ids',
          },
          warnings: { ...TEXTS, description: 'Names that other devices have or had' },
        },
        ['recognised', 'warnings'],
      ),
    },
    async (params, { signal, progress, principal }) => {
      // The last reported progress. It never decreases, even if steps are repeated for a second device with the same setup code.
      let reached = 0;
      const result = await administration.commission(commissionRequest(params, naming), {
        signal,
        onProgress: ({ step, note }) => {
          reached = Math.max(reached, COMMISSION_STEPS.indexOf(step) / (COMMISSION_STEPS.length - 1));
          progress(reached, `${step}: ${note}`);
        },
      });
      const warnings = result.devices.flatMap((device) => namingWarnings(naming, device, principal));
      return { ...copyJsonObject(snakeJson(result)), ...(warnings.length > 0 && { warnings }) };
    },
  );
}

function recognisedTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'recognised_devices',
      title: 'Devices that were here before',
      description:
        'Lists devices that seem to have been in this home before they were removed: same maker, product and serial number or unique id, attested no worse. restore_device gives them their former ids.',
      tags: ['matter', 'commission again', 'history'],
      parameters: {},
    },
    async () => snakeJson(administration.recognised()),
  );
}

function restoreTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnDevice(ports),
      permissions: ['admin:device:{device_id}', 'admin:hub'],
      name: 'restore_device',
      title: 'Give a device its former id',
      description:
        'Gives a device that was commissioned again the id that it had, with the history, names, grants and rules of that. A serial number is only a claim: a person has to know that it is the same device. Locks, valves and other dangerous devices are restored one by one.',
      isDangerous: true,
      parameters: {
        device_id: deviceParameter,
        whole_node: p.boolean({
          description: 'Also the others behind the same bridge, but for locks, valves and the like',
          default: false,
        }),
      },
      returns: resultSchema({
        restored: {
          type: 'array',
          description: 'Each with its id, and the former_device_id that it had until now',
          items: { type: 'object', required: ['device_id', 'former_device_id'] },
        },
        left: { ...TEXTS, description: 'Ids that have to be named one by one' },
      }),
    },
    async ({ whole_node: isWhole, ...params }) => {
      const device = deviceOf(params);
      const near = isWhole ? ports.bounds.nodeOf(device) : [device];
      const offers = ports.administration.recognised().filter((offer) => near.includes(offer.device));
      if (offers.length === 0) throw new AtmoError('NOT_FOUND', `${device} is not a device that this hub commissioned before`);
      const left = offers.filter((offer) => offer.device !== device && ports.bounds.isGuarded(offer.device));
      const restored = offers.filter((offer) => !left.includes(offer)).map((offer) => restore(ports, offer));
      return { restored, left: left.map((offer) => offer.device) };
    },
  );
}

function restore({ administration, naming }: AdminPorts, { device }: RecognisedDevice) {
  const { id } = administration.restore(device);
  naming.register.merge(device, id);
  return { device_id: id, former_device_id: device };
}

function commissionRequest(params: ValuesOf<typeof commissionParameters>, { areaToday }: NamingPorts): CommissionRequest {
  const { accept_attestation: acceptAttestation, area, ...rest } = params;
  return {
    ...rest,
    ...(area !== undefined && { area: areaToday(area) }),
    ...(acceptAttestation !== undefined && { acceptAttestation }),
  };
}

function halfCommissionedTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
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
      ...ACTS_ON_HUB,
      name: 'forget_half_commissioned',
      title: 'Forget an interrupted commissioning',
      description: 'Forgets a half commissioned device after you have reset it.',
      isIdempotent: true,
      parameters: { id: p.string({ description: 'Id from half_commissioned', maxLength: 128 }) },
      returns: DONE,
    },
    async ({ id }) => {
      administration.forget(id);
      return SUCCESS;
    },
  );
}
