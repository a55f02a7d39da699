/** A protection and its removal: a text that a file of `src` contains exactly once, and the text that replaces it. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  /** The part of the file in which the text is searched; the whole file when absent. */
  readonly within?: { readonly from: string; readonly to: string };
  readonly text: string;
  readonly instead: string;
}

const SERVICES = 'src/hub/tool-services.ts';
const AUTH = 'src/hub/auth.ts';
const HUB = 'src/hub/hub.ts';

const PERMISSIVE_AUTHORIZER = '{ authorize: () => ({ allowed: true }), canSee: () => true, mayTry: () => true }';

/** What the pipeline is given, and a part of the same type that lets every call pass. */
const PIPELINE_PARTS = {
  authorizer: ['authorizer: auth.authorizer', PERMISSIVE_AUTHORIZER],
  audit: ['audit: auth.audit', '{ record: async () => {} }'],
  approvals: [
    'approvals: auth.approvals',
    "{ check: async () => ({ state: 'approved', approvalId: 'a', by: ['a'] }), peek: async () => ({ state: 'approved', approvalId: 'a', by: ['a'] }), giveBack: () => {} }",
  ],
  rules: ['rules: auth.rules', "{ judge: () => ({ kind: 'allow' }) }"],
  'rate limiter': ['rateLimiter: auth.rateLimiter', '{ charge: () => {} }'],
  'token validity': ['validity: auth.authenticator', '{ isStillValid: () => true }'],
  'trusted time': ['time: auth.time', '{ now: () => clock.now(), isTrusted: () => true }'],
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
    text: 'authenticator: auth.authenticator,',
    instead:
      "authenticator: { authenticate: async () => ({ principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } }), isStillValid: () => true },",
  },
  { name: 'the HTTP server has no authenticator', file: 'src/hub/http.ts', text: 'authenticator: auth.authenticator,', instead: '' },
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
  {
    name: 'the authorizer does not ask whether a token is still valid',
    file: AUTH,
    text: 'validity: tokens.authenticator }',
    instead: 'validity: { isStillValid: () => true } }',
  },
  {
    name: 'no proof of possession is verified',
    file: AUTH,
    text: 'proofs: new ProofOfPossession({ replays, time }, hubId)',
    instead: "proofs: { verify: () => 'anybody' } as unknown as ProofOfPossession",
  },
  {
    name: 'tokens bound to the key of the hub need no seal',
    file: AUTH,
    text: 'seal: new TokenSeal(hub.privateKey)',
    instead: 'seal: { seal: (text: string) => text, isAsGivenOut: () => true, isSealed: () => true } as unknown as TokenSeal',
  },
  {
    name: 'readers over HTTP and MCP see everything',
    file: 'src/hub/http.ts',
    text: '      authorizer: auth.authorizer,',
    instead: `      authorizer: ${PERMISSIVE_AUTHORIZER},`,
  },
  {
    name: 'automations observe everything',
    file: HUB,
    text: '      authorizer: auth.authorizer,\n      time',
    instead: `      authorizer: ${PERMISSIVE_AUTHORIZER},\n      time`,
  },
  { name: 'the mesh does not know whose tokens count', file: HUB, text: 'authority: auth.tokens,', instead: '' },
  { name: 'the mesh does not know which tokens were revoked', file: HUB, text: 'validity: auth.authenticator,', instead: '' },
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

/** The stages that protect, by the list of src/calls/stages.ts in which they stand. */
const STAGES: Readonly<Record<string, readonly string[]>> = {
  OPENING: ['authorization.requireValidToken'],
  ADMISSION: [
    'admission.chargeRateLimit',
    'authorization.checkStaticPermissions',
    'authorization.checkFeatures',
    'authorization.refuseDisabledTools',
    'admission.validateParameters',
    'authorization.authorizeEffects',
  ],
  CONSENT: ['consent.applyRules', 'consent.requireApproval'],
  RUN: ['execution.writeIntent', 'authorization.confirmEffects', 'consent.confirmRules'],
  EXECUTION: ['execution.checkResult'],
  PREFLIGHT: ['authorization.checkStaticPermissions', 'authorization.authorizeEffects', 'consent.applyRules', 'consent.peekApproval'],
  TOOL_PREFLIGHT: ['authorization.checkStaticPermissions', 'authorization.checkCanAttempt'],
};

const ofStages = Object.entries(STAGES).flatMap(([list, stages]) =>
  stages.map(
    (stage): Mutation => ({
      name: `${list} lacks ${stage}`,
      file: 'src/calls/stages.ts',
      within: { from: `const ${list}`, to: ';' },
      text: `.pass(${stage})`,
      instead: '',
    }),
  ),
);

/** Every protection of a call, taken out by itself. */
export const MUTATIONS: readonly Mutation[] = [...ofPipeline, ...ofWiring, ...ofStages];

/** Returns the source without the protection. Throws where the text does not stand there exactly once. */
export function mutated({ name, file, within, text, instead }: Mutation, source: string): string {
  const from = within === undefined ? 0 : source.indexOf(within.from);
  const to = within === undefined ? source.length : source.indexOf(within.to, from);
  const parts = source.slice(from, to).split(text);
  if (from < 0 || parts.length !== 2)
    throw new Error(`“${name}”: the text is ${parts.length - 1} times in ${file}, not once: ${text.trim()}`);
  return source.slice(0, from) + parts.join(instead) + source.slice(to);
}
