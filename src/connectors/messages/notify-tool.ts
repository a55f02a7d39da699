import { createHash } from 'node:crypto';
import { isoTime } from '../../core/clock.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import { type PeopleReach, URGENCIES, type Urgency } from '../../core/notices.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { resultSchema } from '../connector.ts';
import type { NotifyConfig } from './messages-config.ts';
import { type MessageServices, type Notification, type NotificationChannel, openChannel } from './notification-channels.ts';

const TIMEOUT_MS = 30_000;

const PARAMETERS = {
  recipient: p.string({
    description:
      'Who is told: a name, address, number, @handle or #channel that the owner configured; a wrong one is answered with all names',
    minLength: 1,
    maxLength: 256,
  }),
  message: p.string({ description: 'What to tell', minLength: 1, maxLength: 4096 }),
  urgency: p.enum(URGENCIES, { description: 'How much it matters; critical rings through at night', default: 'medium' }),
  title: p.string({ description: 'A short heading', minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }).optional(),
  channels: p
    .array(p.string({ description: 'Name or kind of a way, such as email', maxLength: 32 }), {
      description: "Ways to try instead of the owner's order, first to last",
      maxItems: 16,
    })
    .optional(),
};

const RETURNS = resultSchema(['delivered', 'delivery_id', 'channel_used', 'timestamp'], {
  delivered: { type: 'boolean', description: 'True when a provider took the message' },
  delivery_id: { type: 'string', description: "The provider's id of the message" },
  channel_used: { type: 'string', description: 'The way that it went' },
  timestamp: { type: 'string', format: 'date-time' },
});

/** Returns `notify`, which sends a message to a configured recipient over the owner's channels. */
export function notifyTool(recipients: readonly Recipient[]): RegisteredTool {
  return defineTool(
    {
      name: 'notify',
      title: 'Notify somebody',
      description: 'Tells somebody of the house something, on the phone, by mail or as the owner set it. The more urgent, the louder.',
      category: 'communicating',
      capabilities: ['notification'],
      permissions: ['notify:send'],
      hasSideEffects: true,
      needsNetwork: true,
      isAsyncAllowed: true,
      timeoutMs: TIMEOUT_MS,
      retries: 2,
      tags: ['message', 'alert', 'push', 'alarm'],
      parameters: PARAMETERS,
      returns: RETURNS,
      examples: recipients.slice(0, 1).map(({ name }) => ({
        description: 'An alarm',
        params: { recipient: name, message: 'Water on the floor!', urgency: 'critical' },
      })),
    },
    async ({ recipient: wanted, message, urgency, title, channels }, context) => {
      const { clock } = context;
      const recipient = findRecipient(wanted, recipients);
      const common = { id: deliveryId(context), recipient: recipient.name, message, urgency, atMs: clock.now() };
      const notification = { ...common, ...(title !== undefined && { title }) };
      const { id, channel } = await deliver(notification, channelsFor(recipient, urgency, channels), context);
      return { delivered: true, delivery_id: id, channel_used: channel, timestamp: isoTime(clock.now()) };
    },
  );
}

/** Returns an id for the message of a call. It depends only on the agent and the request id, so repeated attempts have the same id. */
function deliveryId({ agentId, requestId }: ToolContext): string {
  return createHash('sha256')
    .update(JSON.stringify([agentId, requestId]))
    .digest('hex')
    .slice(0, 32);
}

interface Recipient {
  readonly name: string;
  readonly also: readonly string[];
  /** The recipient's channels, in the order of the configuration file. */
  readonly ways: readonly NotificationChannel[];
  readonly order: Readonly<Partial<Record<Urgency, readonly string[]>>>;
}

/** Returns the recipients with their channels. Throws CONFIG_INVALID if a channel is unusable or two recipients share a name. */
export function openRecipients({ recipients }: NotifyConfig, services: MessageServices): readonly Recipient[] {
  const opened = Object.entries(recipients).map(([name, { also = [], ways, order = {} }]) => ({
    name,
    also,
    ways: Object.entries(ways).map(([way, config]) => openChannel(way, config, services)),
    order,
  }));
  requireKnownChannels(opened);
  requireDistinctNames(opened);
  return opened;
}

/** Returns the ways of the persons who are recipients, for notices of the hub itself. A person is found by name or by a further name. */
export function recipientReach(recipients: readonly Recipient[]): PeopleReach {
  const recipientNamed = (person: string) =>
    recipients.find((one) => namesOf(one).some((name) => normalizedName(name) === normalizedName(person)));
  const channelsOf = (person: string, urgency: Urgency) => {
    const recipient = recipientNamed(person);
    return recipient ? channelsFor(recipient, urgency, undefined) : [];
  };
  return {
    waysOf: (person, urgency) => channelsOf(person, urgency).map(({ name, kind }) => ({ name, kind, addresses: [name] })),
    send: async (address, message, signal) => {
      const recipient = recipientNamed(message.recipient);
      const channel = recipient?.ways.find(({ name }) => name === address);
      if (channel) return channel.send(message, signal);
      throw new AtmoError('NOT_FOUND', `${message.recipient} is not reached by ${address} any more`);
    },
  };
}

/** Returns the recipient with this name. If there is none, throws NOT_FOUND with the configured names. */
function findRecipient(wanted: string, recipients: readonly Recipient[]): Recipient {
  const key = normalizedName(wanted);
  const found = recipients.find((recipient) => namesOf(recipient).some((name) => normalizedName(name) === key));
  if (found) return found;
  const known = recipients.map(({ name }) => name);
  throw new AtmoError('NOT_FOUND', `There is no recipient ${JSON.stringify(wanted)}; the owner configured ${known.join(', ')}`, {
    candidates: known,
  });
}

/**
 * Returns the channels to try, first choice first. If the caller named channels by name or type, returns these. Otherwise returns the
 * owner's channels for the urgency. Throws VALIDATION_ERROR if the recipient has none of the named channels.
 */
function channelsFor(recipient: Recipient, urgency: Urgency, channels: readonly string[] | undefined): readonly NotificationChannel[] {
  const { ways, order, name } = recipient;
  if (!channels || channels.length === 0) return order[urgency]?.flatMap((wanted) => ways.filter((way) => way.name === wanted)) ?? ways;
  const wanted = new Set(channels.flatMap((channel) => ways.filter((way) => way.name === channel || way.kind === channel)));
  if (wanted.size > 0) return [...wanted];
  const known = ways.map((way) => way.name);
  const message = `${name} is not reached by ${channels.join(' or ')}; there is ${known.join(', ')}`;
  throw new AtmoError('VALIDATION_ERROR', message, { pointer: '/channels', allowed: known });
}

const namesOf = ({ name, also }: Recipient) => [name, ...also];
const normalizedName = (name: string) => name.trim().toLowerCase();

function requireKnownChannels(recipients: readonly Recipient[]): void {
  for (const { name, ways, order } of recipients) {
    const unknown = Object.values(order)
      .flat()
      .find((wanted) => !ways.some((way) => way.name === wanted));
    if (unknown === undefined) continue;
    throw new AtmoError('CONFIG_INVALID', `connectors.notify.recipients.${name}.order names ${unknown}, which is none of its ways`);
  }
}

function requireDistinctNames(recipients: readonly Recipient[]): void {
  const owners = new Map<string, string>();
  for (const recipient of recipients) {
    for (const name of namesOf(recipient).map(normalizedName)) {
      const other = owners.get(name);
      if (other !== undefined && other !== recipient.name) {
        throw new AtmoError('CONFIG_INVALID', `connectors.notify: ${JSON.stringify(name)} means both ${other} and ${recipient.name}`);
      }
      owners.set(name, recipient.name);
    }
  }
}

type DeliveryLimits = Pick<ToolContext, 'clock' | 'signal' | 'deadlineMs'>;

interface ChannelFailure {
  readonly channel: string;
  readonly error: AtmoError;
}

/** Maximum time of an attempt over one channel, in milliseconds. The rest of the time is for further channels. */
const MAX_ATTEMPT_MS = 10_000;
/** For these urgencies, a message with an unknown outcome is also sent over the next channel, although it may then arrive twice. */
const RESENT_URGENCIES: ReadonlySet<Urgency> = new Set(['high', 'critical']);

/**
 * Tries the channels in order until a provider accepts the message, and returns the provider's id. If an attempt has an unknown outcome,
 * tries further channels only for an urgent message. Rejects with OUTCOME_UNKNOWN (an attempt had an unknown outcome), SERVICE_UNAVAILABLE
 * (not delivered, but a later attempt may succeed), SERVICE_REFUSED (no later attempt will succeed), or the signal's reason. `details.ways`
 * has the error of each channel.
 */
async function deliver(
  notification: Notification,
  ways: readonly NotificationChannel[],
  limits: DeliveryLimits,
): Promise<{ readonly id: string; readonly channel: string }> {
  const failures: ChannelFailure[] = [];
  for (const [index, way] of ways.entries()) {
    try {
      return { id: await attempt(way, notification, { ...limits, waysLeft: ways.length - index }), channel: way.name };
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (error.code === 'INTERNAL_ERROR') throw thrown;
      failures.push({ channel: way.name, error });
      if (limits.signal.aborted) break;
      if (error.code === 'OUTCOME_UNKNOWN' && !RESENT_URGENCIES.has(notification.urgency)) break;
    }
  }
  throw undelivered(notification, failures, limits.signal);
}

async function attempt(
  way: NotificationChannel,
  notification: Notification,
  { clock, signal, deadlineMs, waysLeft }: DeliveryLimits & { readonly waysLeft: number },
): Promise<string> {
  signal.throwIfAborted();
  const shareMs = Math.min(MAX_ATTEMPT_MS, (deadlineMs - clock.now()) / waysLeft);
  const own = new AbortController();
  const stop = clock.after(shareMs, () => own.abort(new AtmoError('SERVICE_UNAVAILABLE', `No answer within ${Math.round(shareMs)} ms`)));
  try {
    return await way.send(notification, AbortSignal.any([signal, own.signal]));
  } finally {
    stop();
  }
}

function undelivered({ recipient }: Notification, failures: readonly ChannelFailure[], signal: AbortSignal): unknown {
  const [only] = failures;
  const codes = failures.map(({ error }) => error.code);
  const details = { ways: failures.map(({ channel, error }) => ({ channel, code: error.code, message: error.message })) };
  const said = failures.map(({ channel, error }) => `${channel}: ${error.message}`).join('; ');
  if (codes.includes('OUTCOME_UNKNOWN')) {
    return new AtmoError('OUTCOME_UNKNOWN', `Whether ${recipient} was told is not known. ${said}`, details);
  }
  if (signal.aborted || !only) return signal.reason;
  const mayWorkLater = codes.some((code) => ERROR_CODES[code].retry === 'later');
  return new AtmoError(mayWorkLater ? 'SERVICE_UNAVAILABLE' : 'SERVICE_REFUSED', `${recipient} was not told. ${said}`, details);
}
