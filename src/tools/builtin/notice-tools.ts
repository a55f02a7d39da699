import type { PeopleAdministration } from '../../core/auth/people.ts';
import type { Authorizer, Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import {
  inLanguage,
  type ListedNotice,
  NOTICE_KIND_NAMES,
  NOTICE_LANGUAGES,
  type NoticeChoices,
  type NoticeRule,
  noticeKind,
  type PushBrowser,
  type PushBrowsers,
  type RecentNotices,
} from '../../core/notices.ts';
import { defineTool, INTEGER, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { DONE, HUB_ACTS, HUB_READS, SUCCESS } from './hub-tool.ts';

/** Permission of persons for their own notices and for how they are told. */
const OWN_NOTICES = { permissions: ['notice:own'] } as const;
const OBJECTS = { type: 'array', items: { type: 'object' } } as const;

/** The parts of the hub that the tools for notices use. */
export interface NoticePorts {
  readonly people: Pick<PeopleAdministration, 'personOf' | 'find' | 'signInOf'>;
  readonly notices: RecentNotices;
  readonly choices: NoticeChoices;
  readonly browsers: PushBrowsers;
  readonly authorizer: Authorizer;
}

/** Returns the tools for notices. A person uses them for the own ones; administrators of the hub see and change the settings of all. */
export function noticeTools(ports: NoticePorts): readonly RegisteredTool[] {
  return [listNoticesTool(ports), markReadTool(ports), showSettingsTool(ports), setSettingsTool(ports), ...pushTools(ports)];
}

function listNoticesTool({ people, notices, choices }: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...OWN_NOTICES,
      name: 'list_notices',
      title: 'List notices',
      description: 'Lists what the caller, a person of the household, should know or decide, newest first, with a path of the page each.',
      parameters: {
        unread: p.boolean({ description: 'Only notices that the person did not mark as read', default: false }),
        limit: p.integer({ description: 'At most this many', minimum: 1, maximum: 500, default: 100 }),
      },
      returns: resultSchema({ notices: OBJECTS, unread: INTEGER }),
    },
    async ({ unread, limit }, { principal }) => {
      const name = ownName(principal, people);
      const own = notices.recent(name);
      const shown = own.filter(({ isRead }) => !unread || !isRead).slice(0, limit);
      const language = choices.languageOf(name);
      return {
        notices: shown.map((notice) => noticeJson(inLanguage(notice, language))),
        unread: own.filter(({ isRead }) => !isRead).length,
      };
    },
  );
}

function noticeJson({ id, kind, urgency, title, text, path, count, answers, answered, atMs, endedMs, isRead }: ListedNotice): JsonObject {
  return {
    notice_id: id,
    kind,
    urgency,
    title,
    text,
    path,
    at: isoTime(atMs),
    is_read: isRead,
    ...(count !== undefined && { count }),
    ...(answers && { answers: [...answers] }),
    ...(answered && { answer: answered.answer, answered_by: answered.by }),
    ...(endedMs !== undefined && { ended_at: isoTime(endedMs) }),
  };
}

function markReadTool({ people, notices }: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...OWN_NOTICES,
      name: 'mark_notices_read',
      title: 'Mark notices as read',
      description: 'Marks notices of the caller, a person of the household, as read: these, or all without ids.',
      isIdempotent: true,
      parameters: {
        notice_ids: p
          .array(p.string({ description: 'Id that list_notices tells', maxLength: 64 }), {
            description: 'Which; all if absent',
            maxItems: 500,
          })
          .optional(),
      },
      returns: resultSchema({ marked: INTEGER }),
    },
    async ({ notice_ids: ids }, { principal }) => ({ marked: notices.markRead(ownName(principal, people), ids) }),
  );
}

const personParameter = p
  .string({ description: 'Name of another person, for administrators; the caller if absent', maxLength: 32 })
  .optional();
const TIME_OF_DAY = '^([01][0-9]|2[0-3]):[0-5][0-9]$';
const MAX_RULES = 32;

const ruleParameter = p.object(
  {
    kinds: p
      .array(p.enum(NOTICE_KIND_NAMES, { description: 'Kind of notices' }), { description: 'All kinds if absent', minItems: 1 })
      .optional(),
    from: p.string({ description: 'First time of day, such as 22:00; all day if absent', pattern: TIME_OF_DAY }).optional(),
    to: p.string({ description: 'Time of day at which the hours end, such as 07:00', pattern: TIME_OF_DAY }).optional(),
    ways: p.array(p.string({ description: 'Name of a way that show_notice_settings lists, or push', maxLength: 32 }), {
      description: 'Ways, first choice first; empty: not told (with hours: told after them if it still lasts)',
      maxItems: 16,
    }),
  },
  {
    description:
      'The first rule that fits kind and hour counts. Requests for approval and smoke are silenced only by a rule that names them',
  },
);

const SETTINGS = resultSchema({
  person: TEXT,
  rules: OBJECTS,
  ways: { ...OBJECTS, description: 'What reaches the person, in the order that is used without a rule' },
  kinds: { ...OBJECTS, description: 'All kinds of notices, each with its urgency and what it is about' },
  language: { ...TEXT, description: 'Language in which the person is told (BCP 47)' },
});

function showSettingsTool(ports: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...OWN_NOTICES,
      name: 'show_notice_settings',
      title: 'Show how a person is told',
      description: 'Tells over which ways a person is told of which kinds of notices, at which hours, and which ways and kinds there are.',
      parameters: { person: personParameter },
      returns: SETTINGS,
    },
    async ({ person }, { principal }) => settingsJson(nameOf(person, principal, ports), ports),
  );
}

function setSettingsTool(ports: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...OWN_NOTICES,
      name: 'set_notice_settings',
      title: 'Choose how a person is told',
      description:
        'Replaces the rules by which a person is told of notices (which kinds, at which hours, over which ways or not at all), or sets the language.',
      isIdempotent: true,
      parameters: {
        person: personParameter,
        rules: p
          .array(ruleParameter, {
            description: 'All rules of the person; none: the order of the ways; absent: as they are',
            maxItems: MAX_RULES,
          })
          .optional(),
        language: p.enum(NOTICE_LANGUAGES, { description: 'Language in which the person is told' }).optional(),
        page_language: p
          .enum(NOTICE_LANGUAGES, { description: 'Language of the page on which the person is signed in; used until language is set' })
          .optional(),
      },
      returns: SETTINGS,
    },
    async ({ person, rules, language, page_language: pageLanguage }, { principal }) => {
      const { choices } = ports;
      const name = nameOf(person, principal, ports);
      if (rules) choices.setRules(name, rules as readonly NoticeRule[]);
      if (pageLanguage) choices.setLanguage(name, pageLanguage, 'page');
      if (language) choices.setLanguage(name, language, 'person');
      return settingsJson(name, ports);
    },
  );
}

function settingsJson(person: string, { choices }: NoticePorts): JsonObject {
  const kinds = NOTICE_KIND_NAMES.map((kind) => ({ kind, urgency: noticeKind(kind).urgency, title: noticeKind(kind).title }));
  const rules = choices.rulesOf(person).map(({ kinds: about, from, to, ways }) => ({
    ...(about && { kinds: [...about] }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ways: [...ways],
  }));
  const ways = choices.waysOf(person).map(({ name, kind }) => ({ name, kind }));
  return { person, rules, ways, kinds, language: choices.languageOf(person) };
}

function pushTools(ports: NoticePorts): readonly RegisteredTool[] {
  return [pushKeyTool(ports), listBrowsersTool(ports), addBrowserTool(ports), removeBrowserTool(ports)];
}

function pushKeyTool({ browsers }: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...OWN_NOTICES,
      name: 'push_key',
      title: 'Key for Web Push',
      description: "Tells the hub's public key with which a browser subscribes to its messages (RFC 8292).",
      parameters: {},
      returns: resultSchema({ key: { ...TEXT, description: 'P-256, uncompressed, base64url' } }),
    },
    async () => ({ key: browsers.publicKey }),
  );
}

function listBrowsersTool({ people, browsers }: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...OWN_NOTICES,
      name: 'list_push_subscriptions',
      title: 'List browsers that get messages',
      description: 'Lists the browsers of the caller, a person of the household, that get messages by Web Push.',
      parameters: {},
      returns: resultSchema({ subscriptions: OBJECTS }),
    },
    async (_params, { principal }) => ({ subscriptions: browsers.list(ownName(principal, people)).map(browserJson) }),
  );
}

const BASE64URL = '^[A-Za-z0-9_-]+={0,2}$';

function addBrowserTool({ people, browsers }: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...OWN_NOTICES,
      name: 'add_push_subscription',
      title: 'Send messages to this browser',
      description: 'Stores the subscription of a browser to Web Push, as PushSubscription.toJSON() gives it, for the person who calls.',
      isIdempotent: true,
      parameters: {
        endpoint: p.string({ description: "Address at the browser's push service", maxLength: 2_048, pattern: '^https?://', secret: true }),
        keys: p.object(
          {
            p256dh: p.string({ description: 'Public key of the browser', maxLength: 128, pattern: BASE64URL }),
            auth: p.string({ description: 'Secret of the browser', maxLength: 64, pattern: BASE64URL, secret: true }),
          },
          { description: 'Keys of the subscription' },
        ),
        label: p.string({ description: 'Which browser it is, such as phone', maxLength: 64, default: '', isGivenName: true }),
      },
      returns: resultSchema({ subscription_id: TEXT }),
    },
    async ({ endpoint, keys, label }, { principal }) => {
      const { p256dh, auth } = keys;
      const owner = { person: ownName(principal, people), signIn: people.signInOf(principal) };
      return { subscription_id: browsers.add(owner, { endpoint, p256dh, auth }, label).id };
    },
  );
}

function removeBrowserTool({ people, browsers }: NoticePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...OWN_NOTICES,
      name: 'remove_push_subscription',
      title: 'Send no more messages to a browser',
      description: 'Removes a browser of the caller, a person of the household, from those that get messages by Web Push.',
      parameters: { subscription_id: p.string({ description: 'Id that list_push_subscriptions tells', pattern: '^[0-9a-f]{16}$' }) },
      returns: DONE,
    },
    async ({ subscription_id: id }, { principal }) => {
      browsers.remove(ownName(principal, people), id);
      return SUCCESS;
    },
  );
}

function browserJson({ id, label, service, createdAtMs }: PushBrowser): JsonObject {
  return { subscription_id: id, label, service, created_at: isoTime(createdAtMs) };
}

/** Returns the name of the person who calls. Throws PERMISSION_DENIED for an agent, which is no person. */
function ownName(principal: Principal, people: NoticePorts['people']): string {
  const person = people.personOf(principal);
  if (person) return person.name;
  throw new AtmoError('PERMISSION_DENIED', `Notices are for the persons of the household, and ${principal.id} is none of them`);
}

/** Returns the person whom a call is about: the caller, or for an administrator of the hub any person of the household. */
function nameOf(person: string | undefined, principal: Principal, { people, authorizer }: NoticePorts): string {
  if (person === undefined || people.personOf(principal)?.name === person) return ownName(principal, people);
  if (!authorizer.authorize(principal, ['admin:hub']).allowed) {
    throw new AtmoError('PERMISSION_DENIED', `${principal.id} changes only how it is told itself; for ${person} it needs admin:hub`, {
      required: ['admin:hub'],
    });
  }
  if (people.find(person)) return person;
  throw new AtmoError('NOT_FOUND', `There is no person ${JSON.stringify(person)} in the household`);
}
