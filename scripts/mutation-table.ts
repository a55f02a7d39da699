/** A protection and its removal: a text that a file of `src` contains exactly once, and the text that replaces it. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  /** The part of the file in which the text is searched; the whole file when absent. */
  readonly within?: { readonly from: string; readonly to: string };
  readonly text: string;
  readonly instead: string;
  /** The types have to notice it. A test has to notice every other one. */
  readonly breaksTypes?: true;
}

const SERVICES = 'src/hub/tool-services.ts';
const AUTH = 'src/hub/auth.ts';
const HUB = 'src/hub/hub.ts';
const HTTP = 'src/hub/http.ts';
const HTTP_APP = 'src/http/server/http-app.ts';
const GUARD = 'src/mesh/rpc/request-guard.ts';
const VALIDATOR = 'src/mesh/gossip/announcement-validator.ts';
const MEMBERS = 'src/mesh/membership/member-set.ts';
const ofVerification = { from: '  verify(certificate', to: '\n  }' };
const APPROVALS = 'src/auth/approvals/approval-store.ts';
const ofDecision = { from: 'function decidingKey', to: '\n}' };

const PERMISSIVE_AUTHORIZER =
  '{ authorize: () => ({ allowed: true }), canSee: () => true, mayTry: () => true, elsewhere: () => auth.authorizer }';

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
    { name: `the pipeline has no ${part}`, file: SERVICES, text, instead: '', breaksTypes: true },
  ];
});

/** What the hub passes from its settings and parts to the pipeline. */
const ofSettings: readonly Mutation[] = [
  { name: 'no tool is switched off', file: SERVICES, text: 'disabledTools: tools.disabled,', instead: 'disabledTools: [],' },
  {
    name: 'no tool needs a feature',
    file: SERVICES,
    text: 'features: { required: tools.features,',
    instead: 'features: { required: {},',
  },
  {
    name: 'every caller has every feature',
    file: SERVICES,
    text: 'granted: featuresOf }',
    instead: 'granted: () => Object.values(tools.features).flat() }',
  },
  {
    name: 'hashes of secrets are made without the key of the hub',
    file: SERVICES,
    text: 'sealSecret: (value) => auth.key.sealSecret(value),',
    instead: 'sealSecret: (value) => JSON.stringify(value),',
  },
  {
    name: 'a session makes any number of calls',
    file: SERVICES,
    text: 'maxCallsPerSession: tools.maxCallsPerSession,',
    instead: 'maxCallsPerSession: Number.POSITIVE_INFINITY,',
  },
  {
    name: 'any number of calls runs at once',
    file: SERVICES,
    text: 'maxConcurrent: tools.maxConcurrent,',
    instead: 'maxConcurrent: Number.POSITIVE_INFINITY,',
  },
  {
    name: 'any number of calls of one caller runs at once',
    file: SERVICES,
    text: 'maxConcurrentPerCaller: tools.maxConcurrentPerCaller,',
    instead: 'maxConcurrentPerCaller: Number.POSITIVE_INFINITY,',
  },
  {
    name: 'parameters may be of any length',
    file: SERVICES,
    text: 'maxParamsBytes: tools.maxParamsBytes,',
    instead: 'maxParamsBytes: Number.POSITIVE_INFINITY,',
  },
  {
    name: 'jobs go on when their token is revoked',
    file: SERVICES,
    text: '  auth.tokens.onRevoked((tokenId) => jobStore.cancelOf(tokenId));\n',
    instead: '',
  },
  {
    name: 'calls go on when their token is revoked',
    file: SERVICES,
    text: 'pipeline.abortCallsOf((caller) => (caller.token?.chain.includes(tokenId) ?? false) && !auth.authenticator.isStillValid(caller));',
    instead: 'pipeline.abortCallsOf((caller) => tokenId === undefined && !auth.authenticator.isStillValid(caller));',
  },
  {
    name: 'a revocation of a hub that may not revoke ends calls',
    file: SERVICES,
    text: ' && !auth.authenticator.isStillValid(caller)',
    instead: '',
  },
  {
    name: 'calls go on when the hub of their caller is no member any more',
    file: HUB,
    text: 'onLost(() => services.pipeline.abortCallsOf((caller) => !authenticator.isStillValid(caller)));',
    instead: 'onLost(() => services.pipeline.abortCallsOf((caller) => caller.id === authenticator.constructor.name));',
  },
];

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
    file: HTTP,
    text: 'authenticator: auth.authenticator,',
    instead:
      "authenticator: { authenticate: async () => ({ principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } }), isStillValid: () => true },",
  },
  { name: 'the HTTP server has no authenticator', file: HTTP, text: 'authenticator: auth.authenticator,', instead: '', breaksTypes: true },
  {
    name: 'no route of the HTTP server asks for a token',
    file: HTTP_APP,
    text: "if (route.access === 'public') return NOBODY;",
    instead: "if (route.access !== undefined) return { principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } };",
  },
  {
    name: 'requests from another Host pass',
    file: HTTP_APP,
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
    file: HTTP,
    text: '      authorizer: auth.authorizer,',
    instead: `      authorizer: ${PERMISSIVE_AUTHORIZER},`,
  },
  {
    name: 'automations observe everything',
    file: HUB,
    text: '      authorizer: auth.authorizer,\n      time',
    instead: `      authorizer: ${PERMISSIVE_AUTHORIZER},\n      time`,
  },
  { name: 'the mesh does not know whose tokens count', file: HUB, text: 'authority: auth.tokens,', instead: '', breaksTypes: true },
  {
    name: 'the mesh does not know which tokens were revoked',
    file: HUB,
    text: 'validity: auth.authenticator,',
    instead: '',
    breaksTypes: true,
  },
  {
    name: 'the mesh takes every token for valid',
    file: HUB,
    text: 'validity: auth.authenticator,',
    instead: 'validity: { isStillValid: () => true },',
  },
  {
    name: 'the key of a token of another hub is not compared',
    file: GUARD,
    text: 'holder === undefined || principal.token?.keys.at(-1) !== holder',
    instead: 'holder === undefined || principal.token === undefined',
  },
  {
    name: 'who guesses tokens is never locked out',
    file: HTTP,
    text: 'guesses: this.#tokenGuessLockout(),',
    instead: 'guesses: { admit: () => {}, succeeded: () => {}, failed: () => {} } as unknown as TokenGuessLockout,',
  },
  {
    name: 'wrong tokens are not counted',
    file: HTTP_APP,
    text: "if (thrown instanceof AtmoError && thrown.code === 'TOKEN_INVALID') guesses.failed(source, bearer);",
    instead: '',
  },
  {
    name: 'who is locked out goes on guessing',
    file: HTTP_APP,
    text: "if (lock && source !== 'local') throw lock;",
    instead: '',
  },
  {
    name: 'everybody reads as often as they like',
    file: HTTP,
    text: 'const reads = new ReadRateLimiter(clock);',
    instead: 'const reads = { take: () => {} } as unknown as ReadRateLimiter;',
  },
  {
    name: 'reads over HTTP are not counted',
    file: HTTP_APP,
    text: "if (route.method === 'GET' && route.access === 'token') this.#collaborators.reads.take(principal);",
    instead: '',
  },
  {
    name: 'X-Caller-Scopes narrows nothing',
    file: HTTP_APP,
    text: "requireScope(request.headers.get('x-caller-scopes'), route.scope);",
    instead: '',
  },
  {
    name: 'everybody hears every event',
    file: 'src/http/event-visibility.ts',
    text: 'return this.#rules.get(event.type)?.(event, receiver) ?? false;',
    instead: 'return this.#rules.has(event.type) || receiver !== undefined;',
  },
  {
    name: 'a listener over HTTP hears every event',
    file: 'src/http/routes/event-routes.ts',
    text: 'mayReceive: (event) => visibility.mayReceive(event, principal),',
    instead: 'mayReceive: () => true,',
  },
  {
    name: 'a listener over HTTP hears on when its token is revoked',
    file: 'src/http/routes/event-routes.ts',
    text: 'const isStillValid = () => authenticator.isStillValid(principal);',
    instead: 'const isStillValid = () => true;',
  },
  {
    name: 'other hubs hear every event',
    file: HUB,
    text: 'visibleEvents: (principal: Principal) => http.eventFilter(principal),',
    instead: 'visibleEvents: () => () => true,',
  },
  {
    name: 'a listener at another hub hears every event',
    file: 'src/mesh/rpc/subscription-server.ts',
    text: 'else if (isVisible(event)) queue.add(event);',
    instead: 'else queue.add(event);',
  },
  {
    name: 'a listener at another hub hears on when its token is revoked',
    file: 'src/mesh/rpc/subscription-server.ts',
    text: 'if (!validity.isStillValid(principal)) queue.end(tokenEnded);\n        else if',
    instead: 'if',
  },
  {
    name: 'tokens of other hubs count without the ceiling of the mesh',
    file: 'src/auth/tokens/token-chain.ts',
    text: 'permissionsOf: (hubId) => (hubId === hub.hubId ? undefined : (mesh.hub(hubId)?.permissions ?? [])),',
    instead: 'permissionsOf: () => undefined,',
  },
  {
    name: 'a call of another hub runs each time that it arrives',
    file: 'src/mesh/rpc/call-server.ts',
    text: 'const known = ledger.find(entryHub, id);',
    instead: 'const known = undefined as LedgerRecord | undefined;',
  },
  {
    name: 'a query of another hub is answered each time that it arrives',
    file: 'src/mesh/rpc/rpc-endpoint.ts',
    within: { from: 'async #answer(', to: '\n  }\n' },
    text: 'if (this.#ledger.find(entryHub, id)) {',
    instead: 'if (entryHub === undefined) {',
  },
  {
    name: 'a call of another hub may name another agent',
    file: 'src/mesh/rpc/call-server.ts',
    text: 'if (agentId === foreignAgentId(principal.id, self.hubId)) return principal;',
    instead: 'if (agentId !== undefined) return principal;',
  },
  {
    name: 'a call of another hub may be of any time',
    file: GUARD,
    text: 'if (Math.abs(time.now() - head.timeMs) > TIME_WINDOW_MS) {',
    instead: 'if (time.now() === undefined) {',
  },
  {
    name: 'a call of another hub may be for an earlier start of this hub',
    file: GUARD,
    text: 'if (head.executingHub === self && (head.executorEpoch !== epoch() || epoch() === 0))',
    instead: 'if (head.executingHub === undefined)',
  },
  {
    name: 'a call of another hub may hide where it came from',
    file: GUARD,
    text: 'if (visited[0] !== head.entryHub || visited.at(-1) !== from) {',
    instead: 'if (from === undefined) {',
  },
  {
    name: 'a token goes over any number of hops',
    file: GUARD,
    text: 'if (maxHops !== undefined && forwarded.visited.length > maxHops) {',
    instead: 'if (maxHops !== undefined && forwarded.visited.length < 0) {',
  },
  {
    name: 'a hub sends new tokens as often as it likes',
    file: GUARD,
    text: 'if (!this.#knownTokens.delete(token) && !this.#newTokens.tryTake(entryHub)) {',
    instead: 'if (!this.#knownTokens.delete(token) && entryHub === undefined) {',
  },
  {
    name: 'announcements of any length are read',
    file: VALIDATOR,
    text: "if (envelope.length > MAX_GOSSIP_BYTES) return 'oversized';",
    instead: '',
  },
  {
    name: 'a neighbour sends as many announcements as it likes',
    file: VALIDATOR,
    text: "if (!this.#neighbours.tryTake(from)) return 'neighbour_rate';",
    instead: '',
  },
  {
    name: 'a neighbour repeats announcements of one hub as often as it likes',
    file: VALIDATOR,
    text: ") return 'origin_rate';",
    instead: ") void 'origin_rate';",
  },
  {
    name: 'old announcements are taken',
    file: VALIDATOR,
    text: "if (records.isStale(unverified)) return 'stale';",
    instead: '',
  },
  {
    name: 'announcements are taken with a certificate of another hub',
    file: VALIDATOR,
    text: "return member.hubId === hubId ? member.publicKey : 'not_a_member';",
    instead: 'return member.publicKey;',
  },
  {
    name: 'certificates of members that have expired count',
    file: MEMBERS,
    within: ofVerification,
    text: '    requireInTime(member, this.#time);\n',
    instead: '',
  },
  {
    name: 'certificates of members that were revoked count',
    file: MEMBERS,
    within: ofVerification,
    text: 'if (this.revoked.covers(member)) {',
    instead: 'if (member.hubId === undefined) {',
  },
  {
    name: 'no signature of a message is verified',
    file: 'src/codec/cose-sign1.ts',
    text: "  if (!verify(null, sigStructure(PROTECTED, externalAad, payload), key, signature)) refuse('the signature does not fit');\n",
    instead: '',
  },
  {
    name: 'a decision counts without a signature',
    file: APPROVALS,
    within: ofDecision,
    text: 'keys.find((candidate) => isSignedStatement(decision.signature, statement, publicKeyOf(candidate.key)))',
    instead: 'keys.find((candidate) => statement !== undefined && candidate !== undefined)',
  },
  {
    name: 'who asks may approve',
    file: APPROVALS,
    within: ofDecision,
    text: 'if (isOwnRequest(record, person) || record.requester.keys.includes(key.key)) {',
    instead: 'if (person === undefined) {',
  },
  {
    name: 'who asks may approve under another name with its own key',
    file: APPROVALS,
    within: ofDecision,
    text: ' || record.requester.keys.includes(key.key)',
    instead: '',
  },
  {
    name: 'a key that was enrolled after the request may approve it',
    file: APPROVALS,
    within: ofDecision,
    text: 'if (key.serial > record.newestEnrolment) {',
    instead: 'if (key.serial < 0) {',
  },
  {
    name: 'one person approves as often as two',
    file: APPROVALS,
    text: 'if (given.some(({ person }) => person === word.person)) {',
    instead: 'if (given.some(({ person }) => person === undefined)) {',
  },
  {
    name: 'an approval serves more than one call',
    file: APPROVALS,
    text: "const used: ApprovalRecord = { ...record, state: 'used' };",
    instead: 'const used: ApprovalRecord = record;',
  },
  {
    name: 'a request that was denied can be approved',
    file: APPROVALS,
    text: "if (record.state === 'open' && !this.#isDue(record)) return record;",
    instead: 'if (!this.#isDue(record)) return record;',
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
  OPENING: ['admission.refuseWhileDraining', 'admission.refuseWhileMemoryIsShort', 'authorization.requireValidToken'],
  ADMISSION: [
    'admission.chargeRateLimit',
    'admission.refuseUnsupportedMode',
    'authorization.checkStaticPermissions',
    'authorization.checkFeatures',
    'authorization.refuseDisabledTools',
    'admission.validateParameters',
    'authorization.authorizeEffects',
    'admission.claimIdempotencyKey',
  ],
  CONSENT: ['consent.applyRules', 'consent.requireApproval'],
  RUN: [
    'execution.takeSlot',
    'execution.writeIntent',
    'execution.confirmCallerWaits',
    'authorization.confirmEffects',
    'consent.confirmRules',
  ],
  EXECUTION: ['execution.checkResult'],
  PREFLIGHT: [
    'admission.refuseUnsupportedMode',
    'authorization.checkStaticPermissions',
    'authorization.checkFeatures',
    'authorization.refuseDisabledTools',
    'admission.validateParameters',
    'authorization.authorizeEffects',
    'consent.applyRules',
    'consent.peekApproval',
  ],
  TOOL_PREFLIGHT: [
    'admission.refuseUnsupportedMode',
    'authorization.checkStaticPermissions',
    'authorization.checkFeatures',
    'authorization.refuseDisabledTools',
    'authorization.checkCanAttempt',
  ],
};

/** What a stage that checks nothing returns, where later stages need what the stage adds to the call. */
const UNCHECKED: Readonly<Record<string, string>> = {
  'authorization.authorizeEffects': '({ ...call, effects: call.tool?.effects?.(call.params) ?? [] })',
  'consent.applyRules': '({ ...call, personsByRule: 0 })',
  'execution.writeIntent': "({ ...call, run: { runId: 'run', logicalTimeMs: 0, randomSeed: '' } })",
  'execution.checkResult': "({ ...call, result: { value: 'rawResult' in call ? call.rawResult : null, hash: '' } })",
};

/** Each stage is taken out, which the types notice, and replaced by one of its type that lets every call pass, which a test has to notice. */
const ofStages = Object.entries(STAGES).flatMap(([list, stages]) =>
  stages.flatMap((stage): readonly Mutation[] => {
    const place = { file: 'src/calls/stages.ts', within: { from: `const ${list}`, to: ';' }, text: `.pass(${stage})` };
    const unchecked = `((call: CallFacts) => ${UNCHECKED[stage] ?? 'call'}) as unknown as typeof ${stage}`;
    return [
      { name: `${list} lacks ${stage}`, ...place, instead: '', breaksTypes: true },
      { name: `${list} has a ${stage} that checks nothing`, ...place, instead: `.pass(${unchecked})` },
    ];
  }),
);

const AUTHORIZATION = 'src/calls/stages/authorization.ts';
const CONSENT = 'src/calls/stages/consent.ts';
const ofFunction = (name: string) => ({ from: `function ${name}`, to: '\n}' });

/** What stages check themselves and by functions that they share. */
const withinStages: readonly Mutation[] = [
  {
    name: 'no stage asks whether the token is still valid',
    file: AUTHORIZATION,
    within: ofFunction('requireValidToken'),
    text: 'if (!validity.isStillValid(principal)) {',
    instead: 'if (principal.id === undefined) {',
  },
  {
    name: 'no stage asks whether the token has expired',
    file: AUTHORIZATION,
    within: ofFunction('requireValidToken'),
    text: 'if (principal.token && ',
    instead: 'if (principal.id === undefined && principal.token && ',
  },
  {
    name: 'a call that waited is not asked again whether its token is valid',
    file: AUTHORIZATION,
    within: ofFunction('confirmEffects'),
    text: '  requireValidToken(call, context);\n',
    instead: '',
  },
  {
    name: 'a call that waited may run a tool that was replaced',
    file: AUTHORIZATION,
    within: ofFunction('confirmEffects'),
    text: 'context.registry.get(call.tool.id) === call.tool',
    instead: 'call.tool !== undefined',
  },
  {
    name: 'a call that waited may have other effects',
    file: AUTHORIZATION,
    within: ofFunction('confirmEffects'),
    text: 'effects.every((effect) => known.has(effectKey(effect)))',
    instead: 'effects.every((effect) => known.has(effectKey(effect)) || true)',
  },
  {
    name: 'the permissions that the definition requires for the parameters are not checked',
    file: AUTHORIZATION,
    within: ofFunction('authorizedEffects'),
    text: '  requirePermissions(principal, filledPermissions(call.tool.definition.requires.permissions, call.params), context.authorizer);\n',
    instead: '',
  },
  {
    name: 'the permissions of effects are not checked',
    file: AUTHORIZATION,
    within: ofFunction('authorizedEffects'),
    text: '  requireEffects(principal, effects, context);\n',
    instead: '',
  },
  {
    name: 'a dangerous call asks for approval without trusted time',
    file: CONSENT,
    within: ofFunction('queueFor'),
    text: "  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);\n",
    instead: '',
  },
  {
    name: 'a dangerous call that waited runs without trusted time',
    file: CONSENT,
    within: ofFunction('confirmRules'),
    text: "  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);\n",
    instead: '',
  },
  {
    name: 'an approved call may run another plan',
    file: CONSENT,
    within: ofFunction('confirmRules'),
    text: '  requireApprovedPlan(call, context);\n',
    instead: '',
  },
  {
    name: 'a step may be another one than people approved',
    file: CONSENT,
    within: ofFunction('confirmRules'),
    text: 'const step = plannedStep(call, context);',
    instead: 'const step = undefined as PlannedCall | undefined;',
  },
  {
    name: 'a step that people approved may run more than once',
    file: CONSENT,
    within: ofFunction('takeStep'),
    text: 'left.splice(index, 1)[0]',
    instead: 'left[index]',
  },
  {
    name: 'no rule makes people approve a call',
    file: CONSENT,
    within: ofFunction('personsNeeded'),
    text: 'Math.max(ofTool, call.personsByRule)',
    instead: 'ofTool',
  },
  {
    name: 'people approve only what a rule says',
    file: CONSENT,
    within: ofFunction('personsNeeded'),
    text: 'Math.max(ofTool, call.personsByRule)',
    instead: 'call.personsByRule',
  },
  {
    name: 'one person is enough for every tool',
    file: CONSENT,
    within: ofFunction('personsNeeded'),
    text: '(call.tool.definition.metadata.approvalsNeeded ?? 1)',
    instead: '1',
  },
  {
    name: 'a session is not charged',
    file: 'src/calls/stages/admission.ts',
    text: '  context.sessions.charge(principal, sessionId);\n',
    instead: '',
  },
  {
    name: 'a token is not charged',
    file: 'src/calls/stages/admission.ts',
    text: '  context.rateLimiter.charge(principal);\n',
    instead: '',
  },
  {
    name: 'a dangerous call runs though its intent was not written',
    file: 'src/calls/stages/execution.ts',
    text: '    if (intent.mustSync) throw failure;\n',
    instead: '',
  },
  {
    name: 'calls that ended leave no row',
    file: 'src/calls/call-audit.ts',
    text: '    await this.#collaborators.audit.record(outcome);\n',
    instead: '',
  },
  {
    name: 'refused calls leave no row',
    file: 'src/calls/call-audit.ts',
    text: "if (outcome.error === 'RATE_LIMITED' && outcome.kind === 'refusal' && this.#isLeftOut(outcome)) return;",
    instead: "if (outcome.kind === 'refusal') return;",
  },
  {
    name: 'steps are run without being judged before',
    file: 'src/calls/composition/steps.ts',
    text: '    if (error) throw refusedStep(',
    instead: '    if (error && index < 0) throw refusedStep(',
  },
];

/** Every protection of a call, taken out by itself. */
export const MUTATIONS: readonly Mutation[] = [...ofPipeline, ...ofSettings, ...ofWiring, ...ofStages, ...withinStages];

/** Returns the source without the protection. Throws where the text does not stand there exactly once. */
export function mutated({ name, file, within, text, instead }: Mutation, source: string): string {
  const from = within === undefined ? 0 : source.indexOf(within.from);
  const to = within === undefined ? source.length : source.indexOf(within.to, from);
  const parts = source.slice(from, to).split(text);
  if (from < 0 || parts.length !== 2)
    throw new Error(`“${name}”: the text is ${parts.length - 1} times in ${file}, not once: ${text.trim()}`);
  return source.slice(0, from) + parts.join(instead) + source.slice(to);
}
