import { AtmoError } from '../../core/errors.ts';
import type { NotificationWay } from './notification.ts';
import type { NotifyConfig } from './notify-config.ts';
import { type MessageServices, openWay } from './open-way.ts';
import type { Urgency } from './urgency.ts';

/** Somebody who may be told something. */
export interface Recipient {
  readonly name: string;
  readonly also: readonly string[];
  /** In the order of the file. */
  readonly ways: readonly NotificationWay[];
  readonly order: Readonly<Partial<Record<Urgency, readonly string[]>>>;
}

/** The recipients of the file with their ways. CONFIG_INVALID for ways that cannot be, and for a name that is two recipients'. */
export function openRecipients({ recipients }: NotifyConfig, services: MessageServices): readonly Recipient[] {
  const opened = Object.entries(recipients).map(([name, { also = [], ways, order = {} }]) => ({
    name,
    also,
    ways: Object.entries(ways).map(([way, config]) => openWay(way, config, services)),
    order,
  }));
  requireKnownWays(opened);
  requireDistinct(opened);
  return opened;
}

/** Whoever has this name. NOT_FOUND tells those that there are. */
export function findRecipient(wanted: string, recipients: readonly Recipient[]): Recipient {
  const key = keyOf(wanted);
  const found = recipients.find((recipient) => namesOf(recipient).some((name) => keyOf(name) === key));
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
export function waysFor(recipient: Recipient, urgency: Urgency, channels: readonly string[] | undefined): readonly NotificationWay[] {
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
const keyOf = (name: string) => name.trim().toLowerCase();

function inOrder(ways: readonly NotificationWay[], names: readonly string[]): readonly NotificationWay[] {
  return names.flatMap((name) => ways.filter((way) => way.name === name));
}

function requireKnownWays(recipients: readonly Recipient[]): void {
  for (const { name, ways, order } of recipients) {
    const unknown = Object.values(order)
      .flat()
      .find((wanted) => !ways.some((way) => way.name === wanted));
    if (unknown === undefined) continue;
    throw new AtmoError('CONFIG_INVALID', `connectors.notify.recipients.${name}.order names ${unknown}, which is none of its ways`);
  }
}

function requireDistinct(recipients: readonly Recipient[]): void {
  const owners = new Map<string, string>();
  for (const recipient of recipients) {
    for (const name of namesOf(recipient).map(keyOf)) {
      const other = owners.get(name);
      if (other !== undefined && other !== recipient.name) {
        throw new AtmoError('CONFIG_INVALID', `connectors.notify: ${JSON.stringify(name)} means both ${other} and ${recipient.name}`);
      }
      owners.set(name, recipient.name);
    }
  }
}
