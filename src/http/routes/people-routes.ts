import type { PeopleDirectory, SignInService, SignInToken } from '../../core/auth/people.ts';
import type { Authorizer } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CallPort } from '../ports.ts';
import { json } from '../server/answer.ts';
import type { TokenGuessLockout } from '../server/rate-limits.ts';
import { defineRoute, type Route, type RouteRequest } from '../server/route.ts';
import { toolRoute } from './call-request.ts';

const MAX_FIELD_LENGTH = 256;
const TEXT = { type: 'string' } as const;
const CHANGES = { title: TEXT, role: TEXT } as const;

const PEOPLE_ROUTES = [
  toolRoute({ method: 'GET', path: '/api/v1/people', summary: 'The persons of the household', tool: 'hub:list_people' }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/people',
    summary: 'Add a person to the household',
    tool: 'hub:add_person',
    body: { type: 'object', required: ['name', 'role'], properties: { name: TEXT, ...CHANGES } },
    status: 201,
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/people/:name',
    summary: 'Change what a person may do; what is left out stays',
    tool: 'hub:change_person',
    body: { type: 'object', properties: CHANGES },
    params: ({ path, body }) => ({ ...body, name: path.name ?? '' }),
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/people/:name',
    summary: 'Remove a person, with all sign-ins, tokens and keys',
    tool: 'hub:remove_person',
    params: ({ path }) => ({ name: path.name ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/people/:name/invitation',
    summary: 'Invite a person: a code for one sign-in within ten minutes, which only this answer tells',
    tool: 'hub:invite_person',
    body: { type: 'object' },
    params: ({ path }) => ({ name: path.name ?? '' }),
    status: 201,
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/approver-keys',
    summary: 'The keys that wait until an approver has compared them',
    tool: 'hub:list_offered_keys',
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/approver-keys',
    summary: "Offer a key or passkey of the caller's to approve with",
    tool: 'hub:offer_approver_key',
    body: { type: 'object', properties: { label: TEXT, key: TEXT, passkey: { type: 'object' } } },
    status: 201,
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/approver-keys/:id',
    summary: 'Enrol an offered key after its id was compared; dangerous itself',
    tool: 'hub:confirm_approver_key',
    body: { type: 'object' },
    params: ({ path }) => ({ key_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/approver-keys/:id',
    summary: 'Refuse an offered key',
    tool: 'hub:refuse_approver_key',
    params: ({ path }) => ({ key_id: path.id ?? '' }),
  }),
  toolRoute({ method: 'GET', path: '/api/v1/sign-ins', summary: 'The sign-ins that the caller may see', tool: 'hub:list_sign_ins' }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/sign-ins/:id',
    summary: 'End a sign-in at once',
    tool: 'hub:end_sign_in',
    params: ({ path }) => ({ sign_in_id: path.id ?? '' }),
  }),
];

interface PeopleRouteCollaborators {
  readonly pipeline: Pick<CallPort, 'call'>;
  readonly people: PeopleDirectory & SignInService;
  readonly authorizer: Authorizer;
  /** Locks out a source that guesses invitations. */
  readonly guesses: Pick<TokenGuessLockout, 'admit' | 'failed'>;
}

/** Returns the routes for the household, and those with which a browser or command line signs in and renews its token. */
export function peopleRoutes(collaborators: PeopleRouteCollaborators): readonly Route[] {
  return [...PEOPLE_ROUTES.map((route) => route(collaborators.pipeline)), ...signInRoutes(collaborators), selfRoute(collaborators)];
}

const PROOF = {
  challenge: { type: 'string', description: 'Challenge of POST /api/v1/sign-ins/challenge' },
  signature: { type: 'string', description: 'Signature of the key over the statement (docs/people.md), base64url' },
} as const;
const SIGNED_IN = {
  description: 'a token for at most twelve hours',
  schema: {
    type: 'object',
    required: ['sign_in_id', 'person', 'title', 'role', 'token', 'expires_at'],
    properties: { sign_in_id: TEXT, person: TEXT, title: TEXT, role: TEXT, token: TEXT, expires_at: TEXT },
  },
} as const;

function signInRoutes({ people, guesses }: PeopleRouteCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/sign-ins/challenge',
      summary: 'A challenge that a sign-in signs, once and within a minute; needs no token',
      access: 'public',
      body: { type: 'object' },
      answers: { 200: { description: 'challenge', schema: { type: 'object', required: ['challenge'], properties: { challenge: TEXT } } } },
      handle: () => json({ challenge: people.challenge() }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sign-ins',
      summary: 'Sign in with an invitation and a key that the caller made; needs no token',
      access: 'public',
      body: {
        type: 'object',
        required: ['code', 'key', 'label', 'challenge', 'signature'],
        properties: {
          code: TEXT,
          key: { type: 'string', description: 'Raw public key: Ed25519 or P-256, base64url' },
          label: TEXT,
          ...PROOF,
        },
      },
      answers: { 201: SIGNED_IN },
      handle: (request) =>
        guarded(request, (value) =>
          people.accept({
            code: value('code'),
            key: value('key'),
            label: value('label'),
            challenge: value('challenge'),
            signature: value('signature'),
          }),
        ).then((answer) => json(answer, 201)),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sign-ins/renew',
      summary: 'A new token for a sign-in, against a signature of its key; needs no token',
      access: 'public',
      body: { type: 'object', required: ['sign_in_id', 'challenge', 'signature'], properties: { sign_in_id: TEXT, ...PROOF } },
      answers: { 200: SIGNED_IN },
      // A renewal needs the signature of a key, so there is nothing to guess, and a lockout would only hit others behind the same address.
      handle: async ({ body }) => {
        const [signInId, challenge, signature] = [textIn(body, 'sign_in_id'), textIn(body, 'challenge'), textIn(body, 'signature')];
        return json(signedInJson(await people.renew({ signInId, challenge, signature })));
      },
    }),
  ];

  /** Accepts an invitation. A source that sent wrong codes too often is not heard for some time. */
  async function guarded(
    { body, source }: RouteRequest,
    work: (value: (field: string) => string) => Promise<SignInToken>,
  ): Promise<JsonObject> {
    const guess = textIn(body, 'code');
    guesses.admit(source, guess);
    try {
      return signedInJson(await work((field) => textIn(body, field)));
    } catch (thrown) {
      if (thrown instanceof AtmoError && thrown.code === 'TOKEN_INVALID') guesses.failed(source, guess);
      throw thrown;
    }
  }
}

/** Returns the route that tells a caller who it is, so that the page can greet a person and show what the person may do. */
function selfRoute({ people, authorizer }: PeopleRouteCollaborators): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/me',
    summary: 'Who the caller is: the agent, the person if it is one, and whether it may administer the household',
    answers: {
      200: {
        description: 'the caller',
        schema: {
          type: 'object',
          required: ['agent_id', 'person', 'administers_people'],
          properties: { agent_id: TEXT, person: { type: ['object', 'null'] }, administers_people: { type: 'boolean' } },
        },
      },
    },
    handle({ principal }) {
      const person = people.personOf(principal);
      return json({
        agent_id: principal.id,
        person: person ? { name: person.name, title: person.title, role: person.role } : null,
        administers_people: authorizer.authorize(principal, ['admin:people']).allowed,
      });
    },
  });
}

function textIn(body: JsonObject, field: string): string {
  const value = body[field];
  if (typeof value === 'string' && value !== '' && value.length <= MAX_FIELD_LENGTH) return value;
  throw new AtmoError('VALIDATION_ERROR', `${field} has to be a text of 1 to ${MAX_FIELD_LENGTH} characters`, { pointer: `/${field}` });
}

function signedInJson({ signIn, person, token, expiresAtMs }: SignInToken): JsonObject {
  const { name, title, role } = person;
  return {
    sign_in_id: signIn.id,
    person: name,
    title,
    role,
    token,
    expires_at: isoTime(expiresAtMs),
  };
}
