import { createHash } from 'node:crypto';
import { type Clock, isoTime } from '../../core/clock.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { resultSchema } from '../connector.ts';
import { type NotifyConfig, URGENCIES, type Urgency } from './messages-config.ts';
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

/** `notify`: to somebody whom the owner configured, by the ways that the owner chose. */
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
      const { signal, clock, deadlineMs } = context;
      const recipient = findRecipient(wanted, recipients);
      const atMs = clock.now();
      const notification = {
        id: deliveryId(context),
        recipient: recipient.name,
        message,
        urgency,
        atMs,
        ...(title !== undefined && { title }),
      };
      const delivery = await deliver(notification, channelsFor(recipient, urgency, channels), { signal, clock, deadlineMs });
      return {
        delivered: true,
        delivery_id: delivery.deliveryId,
        channel_used: delivery.channel,
        timestamp: isoTime(clock.now()),
      };
    },
  );
}

/**
 * The same for all attempts of a call, and for a call that an agent makes again under the id of the first; no agent can make that of
 * another.
 */
function deliveryId({ agentId, requestId }: ToolContext): string {
  return createHash('sha256')
    .update(JSON.stringify([agentId, requestId]))
    .digest('hex')
    .slice(0, 32);
}

/** Somebody who may be told something. */
interface Recipient {
  readonly name: string;
  readonly also: readonly string[];
  /** In the order of the file. */
  readonly ways: readonly NotificationChannel[];
  readonly order: Readonly<Partial<Record<Urgency, readonly string[]>>>;
}

/** The recipients of the file with their ways. CONFIG_INVALID for ways that cannot be, and for a name that is two recipients'. */
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

/** Whoever has this name. NOT_FOUND tells those that there are. */
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
 * The ways to try, first to last: those of `channels` (names or kinds of ways) where the caller names some, else the owner's order
 * for the urgency. VALIDATION_ERROR when the recipient has none of the channels.
 */
function channelsFor(recipient: Recipient, urgency: Urgency, channels: readonly string[] | undefined): readonly NotificationChannel[] {
  const { ways, order, name } = recipient;
  if (!channels || channels.length === 0) return inOrder(ways, order[urgency] ?? ways.map((way) => way.name));
  const wanted = new Set(channels.flatMap((channel) => ways.filter((way) => way.name === channel || way.kind === channel)));
  if (wanted.size > 0) return [...wanted];
  const known = ways.map((way) => way.name);
  throw new AtmoError('VALIDATION_ERROR', `${name} is not reached by ${channels.join(' or ')}; there is ${known.join(', ')}`, {
    pointer: '/channels',
    allowed: known,
  });
}

const namesOf = ({ name, also }: Recipient) => [name, ...also];
const normalizedName = (name: string) => name.trim().toLowerCase();

function inOrder(ways: readonly NotificationChannel[], names: readonly string[]): readonly NotificationChannel[] {
  return names.flatMap((name) => ways.filter((way) => way.name === name));
}

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

/** What a provider said that it took. */
interface Delivery {
  readonly deliveryId: string;
  /** The owner's name for the way. */
  readonly channel: string;
}

interface DeliveryLimits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

interface ChannelFailure {
  readonly channel: string;
  readonly error: AtmoError;
}

/** One way never uses up the time of all others. */
const MAX_ATTEMPT_MS = 10_000;
/** Told twice is better than not at all. */
const RESENT_URGENCIES: ReadonlySet<Urgency> = new Set(['high', 'critical']);

/**
 * Tries the ways one after the other until a provider took the message. A way of which the outcome is not known ends it, unless the
 * message is urgent. Errors: SERVICE_UNAVAILABLE (nobody took it; later somebody may), SERVICE_REFUSED (nobody ever will),
 * OUTCOME_UNKNOWN, or what the signal aborts with; `details.ways` has what each way said.
 */
async function deliver(notification: Notification, ways: readonly NotificationChannel[], limits: DeliveryLimits): Promise<Delivery> {
  const failures: ChannelFailure[] = [];
  for (const [index, way] of ways.entries()) {
    try {
      const deliveryId = await attempt(way, notification, { ...limits, waysLeft: ways.length - index });
      return { deliveryId, channel: way.name };
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
  limits: DeliveryLimits & { readonly waysLeft: number },
): Promise<string> {
  const { clock, signal, deadlineMs, waysLeft } = limits;
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
