/** One protection taken out: a text of a file of `src`, which stands there exactly once, and what stands in its place. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly instead: string;
}

const SERVICES = 'src/hub/tool-services.ts';
const AUTH = 'src/hub/auth.ts';
const HUB = 'src/hub/hub.ts';
const ADMISSION = 'src/calls/stages/admission.ts';
const EXECUTION = 'src/calls/stages/execution.ts';

/** What the pipeline is given, and a part of the same type that lets every call pass. */
const PIPELINE_PARTS = {
  authorizer: ['authorizer: access.authorizer', '{ authorize: () => ({ allowed: true }), canSee: () => true, mayTry: () => true }'],
  audit: ['audit: access.audit', '{ record: async () => {} }'],
  approvals: [
    'approvals: access.approvals',
    "{ check: async () => ({ state: 'approved', approvalId: 'a', by: ['a'] }), peek: async () => ({ state: 'approved', approvalId: 'a', by: ['a'] }), giveBack: () => {} }",
  ],
  rules: ['rules: access.rules', "{ judge: () => ({ kind: 'allow' }) }"],
  'rate limiter': ['rateLimiter: access.rateLimiter', '{ charge: () => {} }'],
  'token validity': ['validity: access.authenticator', '{ isStillValid: () => true }'],
  'trusted time': ['time: access.time', '{ now: () => clock.now(), isTrusted: () => true }'],
} as const;

const ofPipeline = Object.entries(PIPELINE_PARTS).flatMap(([part, [member, permissive]]): readonly Mutation[] => {
  const text = `\n      ${member},`;
  const [name = ''] = member.split(':');
  return [
    { name: `the pipeline's ${part} lets everything pass`, file: SERVICES, text, instead: `\n      ${name}: ${permissive},` },
    { name: `the pipeline has no ${part}`, file: SERVICES, text, instead: '' },
  ];
});

const ALL_REVOKED_IS_FORGOTTEN = '{ firstRevoked: () => undefined }';

const ofWiring: readonly Mutation[] = [
  {
    name: 'the rate limiter of tokens never refuses',
    file: AUTH,
    text: 'rateLimiter: new TokenRateLimiter(clock)',
    instead: 'rateLimiter: { charge: () => {} } as unknown as TokenRateLimiter',
  },
  {
    name: 'tokens are believed without looking at those that were revoked',
    file: AUTH,
    text: 'new TokenVerifier({ issuers, revocations,',
    instead: `new TokenVerifier({ issuers, revocations: ${ALL_REVOKED_IS_FORGOTTEN},`,
  },
  {
    name: "any text is the owner's token",
    file: AUTH,
    text: 'new OwnerAuthenticator(identity.credential)',
    instead: 'new OwnerAuthenticator({ matches: () => true, generation: 0 })',
  },
  {
    name: 'the time is always trusted',
    file: AUTH,
    text: 'const options = { trust: config.clockTrust,',
    instead: "const options = { trust: 'always' as const,",
  },
  {
    name: 'every request over HTTP and MCP is of the owner',
    file: 'src/hub/http.ts',
    text: 'authenticator: access.authenticator,',
    instead:
      "authenticator: { authenticate: async () => ({ principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } }), isStillValid: () => true },",
  },
  { name: 'the HTTP server has no authenticator', file: 'src/hub/http.ts', text: 'authenticator: access.authenticator,', instead: '' },
  {
    name: 'no route of the HTTP server asks for a token',
    file: 'src/http/server/http-app.ts',
    text: "if (route.access === 'public') return NOBODY;",
    instead: "if (route.access !== undefined) return { principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } };",
  },
  {
    name: 'requests from another Host pass',
    file: 'src/http/server/http-app.ts',
    text: "if (reason !== undefined) return this.#refuse(context, new AtmoError('PERMISSION_DENIED', reason));",
    instead: '',
  },
  {
    name: 'the mesh admits hubs that are no members',
    file: 'src/mesh/mesh-service.ts',
    text: "openEngine(membership.gate, 'member')",
    instead: "openEngine({ admit: async () => {} }, 'member')",
  },
  { name: 'the mesh does not know whose tokens count', file: HUB, text: 'authority: access.tokens,', instead: '' },
  { name: 'the mesh does not know which tokens were revoked', file: HUB, text: 'validity: access.authenticator,', instead: '' },
  {
    name: 'the key of a token of another hub is not compared',
    file: 'src/mesh/rpc/request-guard.ts',
    text: 'holder === undefined || principal.token?.keys.at(-1) !== holder',
    instead: 'holder === undefined || principal.token === undefined',
  },
  {
    name: 'steps of composed tools are calls of the owner',
    file: 'src/calls/composition/steps.ts',
    text: '\n    principal,\n',
    instead: "\n    principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] },\n",
  },
  {
    name: 'actions of automations are calls of the owner',
    file: 'src/automations/run-actions.ts',
    text: 'principal: run.principal,',
    instead: "principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] },",
  },
];

/** Stages by the list in which they stand: what is taken out there. */
const STAGES: readonly { readonly stage: string; readonly file: string; readonly text: string; readonly instead: string }[] = [
  {
    stage: 'requireValidToken',
    file: ADMISSION,
    text: 'refuseWhileMemoryIsShort, requireValidToken]',
    instead: 'refuseWhileMemoryIsShort]',
  },
  { stage: 'chargeRateLimit', file: ADMISSION, text: '\n  chargeRateLimit,\n', instead: '\n' },
  {
    stage: 'refuseDisabledTools',
    file: ADMISSION,
    text: 'checkFeatures, refuseDisabledTools];\nconst',
    instead: 'checkFeatures];\nconst',
  },
  { stage: 'checkFeatures', file: ADMISSION, text: 'checkFeatures, refuseDisabledTools];\nconst', instead: 'refuseDisabledTools];\nconst' },
  {
    stage: 'validateParameters',
    file: ADMISSION,
    text: '[validateParameters, canonicalizeParameters, authorizeEffects]',
    instead: '[canonicalizeParameters, authorizeEffects]',
  },
  {
    stage: 'authorizeEffects',
    file: ADMISSION,
    text: '[validateParameters, canonicalizeParameters, authorizeEffects]',
    instead: '[validateParameters, canonicalizeParameters]',
  },
  { stage: 'applyRules', file: ADMISSION, text: '\n  claimIdempotencyKey,\n  applyRules,', instead: '\n  claimIdempotencyKey,' },
  { stage: 'requireApproval', file: ADMISSION, text: '\n  requireApproval,\n', instead: '\n' },
  { stage: 'writeIntent', file: EXECUTION, text: '\n  writeIntent,\n', instead: '\n' },
  { stage: 'confirmEffects', file: EXECUTION, text: '[confirmEffects, confirmRules]', instead: '[confirmRules]' },
  { stage: 'confirmRules', file: EXECUTION, text: '[confirmEffects, confirmRules]', instead: '[confirmEffects]' },
];

const ofStages = STAGES.map(({ stage, ...change }): Mutation => ({ name: `a call does not pass ${stage}`, ...change }));

/** Every protection of a call, taken out by itself. */
export const MUTATIONS: readonly Mutation[] = [...ofPipeline, ...ofWiring, ...ofStages];

/** A source without the protection. Throws where the text does not stand there exactly once. */
export function mutated({ name, file, text, instead }: Mutation, source: string): string {
  const parts = source.split(text);
  if (parts.length !== 2) throw new Error(`“${name}”: the text is ${parts.length - 1} times in ${file}, not once: ${text.trim()}`);
  return parts.join(instead);
}
