import { AUTOMATION_PLACES } from './automation-mutations.ts';
import { type Mutation, ofFunction, type Place } from './mutation.ts';

const SERVICES = 'src/hub/tool-services.ts';
const HUB = 'src/hub/hub.ts';
const HTTP = 'src/hub/http.ts';

const PERMISSIVE_AUTHORIZER =
  '{ authorize: () => ({ allowed: true }), canSee: () => true, mayTry: () => true, elsewhere: () => auth.authorizer }';

/** What the pipeline is given, and a part of the same type that lets every call pass. */
const PIPELINE_PARTS = {
  authorizer: ['authorizer: auth.authorizer', PERMISSIVE_AUTHORIZER],
  audit: ['audit: auth.audit', '{ record: async () => {} }'],
  approvals: [
    'approvals: auth.approvals',
    "{ check: async () => ({ state: 'approved', approvalId: 'a', by: ['a'] }), peek: async () => ({ state: 'approved', approvalId: 'a', by: ['a'] }), giveBack: () => {}, refusalOf: () => undefined, withdraw: () => {} }",
  ],
  rules: ['rules: auth.rules', "{ judge: () => ({ kind: 'allow' }) }"],
  'rate limiter': ['rateLimiter: auth.rateLimiter', '{ charge: () => {}, left: () => [] }'],
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

/** Parts of the hub that are missing, which the types notice. */
const ofMissingParts = [
  { name: 'the HTTP server has no authenticator', file: HTTP, text: 'authenticator: auth.authenticator,' },
  { name: 'the pipeline has no limiter of rehearsals', file: SERVICES, text: 'rehearsalLimiter: auth.rehearsalLimiter,' },
  { name: 'the mesh does not know whose tokens count', file: HUB, text: 'authority: auth.tokens,' },
  { name: 'the mesh does not know which tokens were revoked', file: HUB, text: 'validity: auth.authenticator,' },
].map((part): Mutation => ({ ...part, instead: '', breaksTypes: true }));

const PLACES: readonly Place[] = [
  {
    file: 'src/auth/oauth/access-tokens.ts',
    rows: [
      [
        'an application is known nowhere and good everywhere',
        'if (!token && isOfApplication(principal)) {',
        'if (!token && principal.id === "") {',
      ],
      ['the token of an application is good at every address', 'path === own || ', 'path !== own || '],
    ],
  },
  {
    file: 'src/auth/oauth/authorization-codes.ts',
    rows: [
      ['a code needs no verifier', '!isVerifierOf(stored.challenge, verifier)', 'verifier === ""'],
      ['a code serves at another redirect address', 'redirectUri !== stored.redirectUri', 'redirectUri === ""'],
    ],
  },
  {
    file: 'src/auth/oauth/oauth-client.ts',
    rows: [
      [
        'an answer goes to any redirect address',
        'redirectUris.some((registered) => matchesRedirectUri(uri, registered))',
        'redirectUris && uri',
      ],
      ['a client gets grant types that it has not declared', 'if (grantTypes.includes(type)) return;', 'if (grantTypes) return;'],
    ],
  },
  {
    file: 'src/auth/oauth/grants.ts',
    rows: [
      ['access outlives the sign-in in which it was given', "if (!this.#isSignedIn(grant)) return 'signed_out';", ''],
      ['a refresh token serves for ever', "if (state === 'reused') return this.#refuseAndEnd(grant, 'refresh_token_reused');", ''],
      ['a grant has any number of tokens', 'for (const id of granted.of(grantId).slice(0, -MAX_ACCESS_TOKENS)) this.#replace(id);', ''],
    ],
  },
  {
    file: 'src/auth/oauth/hourly-rate.ts',
    rows: [['one source makes the hub fetch and register for all', 'one.source === source', 'one.source === ""']],
  },
  {
    file: 'src/auth/tokens/token-issuer.ts',
    rows: [['an agent gets the name of an application', '!this.#ports.isApplication(agentId)', 'agentId !== ""']],
  },
  {
    file: 'src/http/routes/page-preference-routes.ts',
    rows: [['an application writes what its person chose', "principal.id.includes('/')", "principal.id === ''"]],
  },
  {
    file: 'src/auth/oauth/consent-service.ts',
    rows: [
      [
        'no key of a sign-in signs what is allowed',
        'this.#ports.people.requireAgreement(caller, consentSubject(requestId, shown), proof);',
        '',
      ],
    ],
  },
  {
    file: 'src/hub/tool-services.ts',
    rows: [
      ['no tool is switched off', 'disabledTools: tools.disabled,', 'disabledTools: [],'],
      ['no tool needs a feature', 'features: { required: tools.features,', 'features: { required: {},'],
      ['every caller has every feature', 'granted: featuresOf }', 'granted: () => Object.values(tools.features).flat() }'],
      [
        'hashes of secrets are made without the key of the hub',
        'sealSecret: (value) => auth.key.sealSecret(value),',
        'sealSecret: (value) => JSON.stringify(value),',
      ],
      [
        'a session makes any number of calls',
        'maxCallsPerSession: tools.maxCallsPerSession,',
        'maxCallsPerSession: Number.POSITIVE_INFINITY,',
      ],
      ['any number of calls runs at once', 'maxConcurrent: tools.maxConcurrent,', 'maxConcurrent: Number.POSITIVE_INFINITY,'],
      [
        'any number of calls of one caller runs at once',
        'maxConcurrentPerCaller: tools.maxConcurrentPerCaller,',
        'maxConcurrentPerCaller: Number.POSITIVE_INFINITY,',
      ],
      ['parameters may be of any length', 'maxParamsBytes: tools.maxParamsBytes,', 'maxParamsBytes: Number.POSITIVE_INFINITY,'],
      ['calls are taken while no memory is free', 'minFreeBytes: memory.minFreeBytes,', 'minFreeBytes: 0,'],
      ['jobs go on when their token is revoked', '  auth.tokens.onRevoked((tokenId) => jobStore.cancelOf(tokenId));\n', ''],
      [
        'calls go on when their token is revoked',
        'pipeline.abortCallsOf((caller) => (caller.token?.chain.includes(tokenId) ?? false) && !auth.authenticator.isStillValid(caller));',
        'pipeline.abortCallsOf((caller) => tokenId === undefined && !auth.authenticator.isStillValid(caller));',
      ],
      ['a revocation of a hub that may not revoke ends calls', ' && !auth.authenticator.isStillValid(caller)', ''],
    ],
  },
  {
    file: 'src/hub/automations.ts',
    rows: [
      ['automations observe everything', '    authorizer,\n    pipeline,', `    authorizer: ${PERMISSIVE_AUTHORIZER},\n    pipeline,`],
    ],
  },
  {
    file: 'src/hub/hub.ts',
    rows: [
      [
        'calls go on when the hub of their caller is no member any more',
        'services.pipeline.abortCallsOf((caller) => !authenticator.isStillValid(caller));',
        'services.pipeline.abortCallsOf((caller) => caller.id.length < 0 && !authenticator.isStillValid(caller));',
      ],
      ['the mesh takes every token for valid', 'validity: auth.authenticator,', 'validity: { isStillValid: () => true },'],
      [
        'other hubs hear every event',
        'visibleEvents: (principal: Principal) => http.eventFilter(principal),',
        'visibleEvents: () => () => true,',
      ],
    ],
  },
  {
    file: 'src/hub/auth.ts',
    rows: [
      [
        'the rate limiter of tokens never refuses',
        'rateLimiter: new TokenRateLimiter(clock)',
        'rateLimiter: { charge: () => {} } as unknown as TokenRateLimiter',
      ],
      [
        'tokens are believed without looking at those that were revoked',
        'new TokenVerifier({ issuers, revocations,',
        'new TokenVerifier({ issuers, revocations: { firstRevoked: () => undefined },',
      ],
      [
        "any text is the owner's token",
        'new OwnerAuthenticator(identity.credential)',
        'new OwnerAuthenticator({ matches: () => true, generation: 0 })',
      ],
      ['the time is always trusted', 'const options = { trust: config.clockTrust,', "const options = { trust: 'always' as const,"],
      [
        'the authorizer does not ask whether a token is still valid',
        'validity: tokens.authenticator }',
        'validity: { isStillValid: () => true } }',
      ],
      [
        'no proof of possession is verified',
        'proofs: new ProofOfPossession({ replays, time }, hubId)',
        "proofs: { verify: () => 'anybody' } as unknown as ProofOfPossession",
      ],
      [
        'tokens bound to the key of the hub need no seal',
        'seal: new TokenSeal(hub.privateKey)',
        'seal: { seal: (text: string) => text, isAsGivenOut: () => true, isSealed: () => true } as unknown as TokenSeal',
      ],
    ],
  },
  {
    file: 'src/hub/http.ts',
    rows: [
      [
        'every request over HTTP and MCP is of the owner',
        'authenticator: auth.authenticator,',
        "authenticator: { authenticate: async () => ({ principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } }), isStillValid: () => true },",
      ],
      ['readers over HTTP and MCP see everything', '      authorizer: auth.authorizer,', `      authorizer: ${PERMISSIVE_AUTHORIZER},`],
      [
        'who guesses tokens is never locked out',
        'guesses: guesses.tokens,',
        'guesses: { admit: () => {}, succeeded: () => {}, failed: () => {} } as unknown as TokenGuessLockout,',
      ],
      [
        'everybody reads as often as they like',
        'const reads = new ReadRateLimiter(clock);',
        'const reads = { take: () => {} } as unknown as ReadRateLimiter;',
      ],
    ],
  },
  {
    file: 'src/tools/definition/tool-names.ts',
    rows: [['rules about enrolling an approver miss the confirmation of a key', '[...aliases, ...ruledLike].map(', 'aliases.map(']],
  },
  {
    file: 'src/tools/builtin/backup-tools.ts',
    within: ofFunction('riskOfSchedule'),
    rows: [
      ['another passphrase of the backups needs no approval', '(passphrase !== undefined || keep < schedule.keep)', 'keep < schedule.keep'],
      ['fewer backups need no approval', '(passphrase !== undefined || keep < schedule.keep)', 'passphrase !== undefined'],
    ],
  },
  {
    file: 'src/profiles/tools/scene-run.ts',
    rows: [
      ['a lock in a scene needs no approval', 'work.effects.map(guardedEffect)', 'work.effects'],
      [
        'a scene that changed after the call was judged runs',
        '  if (call.content !== sceneContent(scene)) throw changedMeanwhile(scene);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/notices/notice-publisher.ts',
    rows: [
      [
        'messages hold tokens that callers wrote where no secret is expected',
        'const shown = withoutSecrets(notice);\n    this.',
        'const shown = notice;\n    this.',
      ],
    ],
  },
  {
    file: 'src/notices/notice-settings.ts',
    rows: [
      [
        'quiet hours silence smoke and approvals',
        ': ways.length === 0 && noticeKind(kind).isSilencedByName === true)',
        ': ways.length < 0)',
      ],
    ],
  },
  {
    file: 'src/connectors/push/web-push.ts',
    rows: [
      ['a message goes to the browser of another person', 'browser?.person !== message.recipient', 'browser === undefined'],
      ['messages go to push services over http', "const isHttps = url?.protocol === 'https:';", 'const isHttps = url !== null;'],
    ],
  },
  {
    file: 'src/tools/builtin/notice-tools.ts',
    rows: [
      [
        'everybody changes how others are told',
        "if (!authorizer.authorize(principal, ['admin:hub']).allowed) {",
        'if (authorizer === undefined) {',
      ],
    ],
  },
  {
    file: 'src/http/server/http-app.ts',
    rows: [
      [
        'no route of the HTTP server asks for a token',
        "if (route.access === 'public') return NOBODY;",
        "if (route.access !== undefined) return { principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } };",
      ],
      [
        'requests from another Host pass',
        "if (reason !== undefined) return this.#refuse(context, new AtmoError('PERMISSION_DENIED', reason));",
        '',
      ],
      ['wrong tokens are not counted', 'if (isGuess) guesses.failed(source, bearer);', ''],
      ['who is locked out goes on guessing', "if (lock && source !== 'local') throw lock;", ''],
      [
        'reads over HTTP are not counted',
        "if (route.method === 'GET' && route.access === 'token') this.#collaborators.reads.take(principal);",
        '',
      ],
      ['X-Caller-Scopes narrows nothing', "requireScope(request.headers.get('x-caller-scopes'), route.scope);", ''],
    ],
  },
  {
    file: 'src/mesh/mesh-service.ts',
    rows: [
      [
        'the mesh admits hubs that are no members',
        "openEngine(membership.gate, 'member')",
        "openEngine({ admit: async () => {} }, 'member')",
      ],
    ],
  },
  {
    file: 'src/mesh/rpc/request-guard.ts',
    rows: [
      [
        'the key of a token of another hub is not compared',
        'holder === undefined || principal.token?.keys.at(-1) !== holder',
        'holder === undefined || principal.token === undefined',
      ],
      [
        'a call of another hub may be of any time',
        'if (Math.abs(time.now() - head.timeMs) > TIME_WINDOW_MS) {',
        'if (time.now() === undefined) {',
      ],
      [
        'a call of another hub may be for an earlier start of this hub',
        'if (executorEpoch !== epoch() || epoch() === 0)',
        'if (executorEpoch === undefined)',
      ],
      [
        'a call of another hub may hide where it came from',
        'if (visited[0] !== head.entryHub || visited.at(-1) !== from) {',
        'if (from === undefined) {',
      ],
      [
        'a token goes over any number of hops',
        'if (maxHops !== undefined && hops > maxHops) {',
        'if (maxHops !== undefined && hops < 0) {',
      ],
      [
        'a hub sends new tokens as often as it likes',
        'if (!this.#knownTokens.delete(token) && !this.#newTokens.tryTake(entryHub)) {',
        'if (!this.#knownTokens.delete(token) && entryHub === undefined) {',
      ],
    ],
  },
  {
    file: 'src/http/event-visibility.ts',
    rows: [
      [
        'everybody hears every event',
        'return this.#rules.get(event.type)?.(event, receiver) ?? false;',
        'return this.#rules.has(event.type) || receiver !== undefined;',
      ],
    ],
  },
  {
    file: 'src/http/routes/event-routes.ts',
    rows: [
      [
        'a listener over HTTP hears every event',
        'mayReceive: (event) => visibility.mayReceive(event, principal),',
        'mayReceive: () => true,',
      ],
      [
        'a listener over HTTP hears on when its token is revoked',
        'const isStillValid = () => authenticator.isStillValid(principal);',
        'const isStillValid = () => true;',
      ],
    ],
  },
  {
    file: 'src/mesh/rpc/subscription-server.ts',
    rows: [
      ['a listener at another hub hears every event', 'else if (isVisible(event)) queue.add(event);', 'else queue.add(event);'],
      [
        'a listener at another hub hears on when its token is revoked',
        'if (!validity.isStillValid(principal)) queue.end(tokenEnded);\n        else if',
        'if',
      ],
    ],
  },
  {
    file: 'src/auth/tokens/token-chain.ts',
    rows: [
      [
        'tokens of other hubs count without the ceiling of the mesh',
        'permissionsOf: (hubId) => (hubId === hub.hubId ? undefined : (mesh.hub(hubId)?.permissions ?? [])),',
        'permissionsOf: () => undefined,',
      ],
    ],
  },
  {
    file: 'src/mesh/rpc/call-server.ts',
    rows: [
      [
        'a call of another hub runs each time that it arrives',
        'const known = ledger.find(entryHub, id);',
        'const known = undefined as LedgerRecord | undefined;',
      ],
      [
        'a call of another hub may name another agent',
        'if (agentId === foreignAgentId(principal.id, self.hubId)) return principal;',
        'if (agentId !== undefined) return principal;',
      ],
    ],
  },
  {
    file: 'src/mesh/rpc/rpc-endpoint.ts',
    within: { from: 'async #answer(', to: '\n  }\n' },
    rows: [
      [
        'a query of another hub is answered each time that it arrives',
        'if (this.#ledger.find(entryHub, id)) {',
        'if (entryHub === undefined) {',
      ],
    ],
  },
  {
    file: 'src/mesh/gossip/announcement-validator.ts',
    rows: [
      ['announcements of any length are read', "if (envelope.length > MAX_GOSSIP_BYTES) return 'oversized';", ''],
      ['a neighbour sends as many announcements as it likes', "if (!this.#neighbours.tryTake(from)) return 'neighbour_rate';", ''],
      ['a neighbour repeats announcements of one hub as often as it likes', ") return 'origin_rate';", ") void 'origin_rate';"],
      ['old announcements are taken', "if (records.isStale(unverified)) return 'stale';", ''],
      [
        'announcements are taken with a certificate of another hub',
        "return member.hubId === hubId ? member.publicKey : 'not_a_member';",
        'return member.publicKey;',
      ],
    ],
  },
  {
    file: 'src/mesh/membership/member-set.ts',
    within: { from: '  verify(certificate', to: '\n  }' },
    rows: [
      ['certificates of members that have expired count', '    requireInTime(member, this.#time);\n', ''],
      ['certificates of members that were revoked count', 'if (this.revoked.covers(member)) {', 'if (member.hubId === undefined) {'],
    ],
  },
  {
    file: 'src/codec/cose-sign1.ts',
    rows: [
      [
        'no signature of a message is verified',
        "  if (!verify(null, sigStructure(PROTECTED, externalAad, payload), key, signature)) refuse('the signature does not fit');\n",
        '',
      ],
    ],
  },
  {
    file: 'src/auth/approvals/approval-store.ts',
    within: ofFunction('decidingKey'),
    rows: [
      [
        'a decision counts without a signature',
        'signerOf(decision.signature, statement, keys)',
        'statement && keys.map((key) => ({ key, signCount: 0 }))[0]',
      ],
      [
        'who asks may approve',
        'if ((isOwnRequest(record, person) && !isOwnPasskeyEnough(record, key)) || record.requester.keys.includes(key.key)) {',
        'if (person === undefined || isOwnPasskeyEnough(record, key)) {',
      ],
      ['who asks may approve under another name with its own key', ' || record.requester.keys.includes(key.key)', ''],
      ['a key that was enrolled after the request may approve it', 'if (key.serial > record.newestEnrolment) {', 'if (key.serial < 0) {'],
    ],
  },
  {
    file: 'src/auth/approvals/approval-store.ts',
    within: ofFunction('isOwnPasskeyEnough'),
    rows: [
      ['who asks may approve with any key', 'passkey === undefined || ', ''],
      [
        'whoever has a passkey may approve what agents under the own login ask for',
        'if (requester.id !== person && requester.isApplication !== true) return false;',
        '',
      ],
      ['who asks is one of two persons', ' || needed !== 1', ''],
      ['who asks may approve what a rule lets others approve', 'isDangerous && ', ''],
      ['who asks may approve own administration', " && !kinds.includes('administration')", ''],
      ['who asks may approve own programs', " && !kinds.includes('programs')", ''],
    ],
  },
  {
    file: 'src/auth/approvals/approval-store.ts',
    rows: [
      [
        'one person approves as often as two',
        'if (given.some(({ person }) => person === word.person)) {',
        'if (given.some(({ person }) => person === undefined)) {',
      ],
      [
        'an approval serves more than one call',
        "const used: ApprovalRecord = { ...record, state: 'used' };",
        'const used: ApprovalRecord = record;',
      ],
      [
        'a request that was denied can be approved',
        "if (record.state === 'open' && !this.#isDue(record)) return record;",
        'if (!this.#isDue(record)) return record;',
      ],
      ['a removed hour leaves its first call approved', ' || this.#collaborators.standing.isHourRemoved(record.id);', ';'],
      [
        'a call that went by an hour reopens the request',
        "    if (record.given.some(({ answer }) => answer === 'approve_for_hour')) return used;\n",
        '',
      ],
      ['a request takes an answer that it does not offer', '    this.#requireOffered(record, answer);\n', ''],
      [
        'a waiting job whose call has changed makes a new request',
        '    if (request.job?.hasAsked) throw changedSinceAsked(request);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/auth/approvals/passkey.ts',
    rows: [
      [
        'a passkey signs without a fingerprint, face or PIN',
        'const isVerified = (flags & FLAG.userPresent) !== 0 && (flags & FLAG.userVerified) !== 0;',
        'const isVerified = (flags & FLAG.userPresent) !== 0;',
      ],
      ['a passkey signs on the page of somebody else', ' || originOf(client) !== passkey.origin) return undefined;', ') return undefined;'],
      ['a copy of a passkey signs too', 'counter > passkey.signCount ? counter : undefined', 'counter'],
    ],
  },
  {
    file: 'src/auth/people/people-service.ts',
    rows: [
      ['a person gets the name of an agent', 'signIn === undefined && agentId === name', 'signIn === undefined && agentId === "" && name'],
      [
        'an invitation serves two browsers',
        'if (known && (known.key !== key || known.endedAtMs !== undefined))',
        'if (known && known.endedAtMs !== undefined)',
      ],
      [
        'a sign-in needs no signature',
        'if (isSignedBy(publicKey, signInStatement(action, subject, challenge), signature)) return;',
        'if (publicKey) return;',
      ],
      ['a challenge of a sign-in serves twice', '    this.#challenges.use(challenge);\n', ''],
      ['a person keeps the rights of before', '    this.#revokeAllTokens(person.name);\n', ''],
      ['who was removed keeps tokens of other ways than sign-ins', '    this.#revokeAllTokens(name);\n', ''],
    ],
  },
  {
    file: 'src/auth/approvals/approver-registry.ts',
    rows: [
      ['somebody who may not approve any more decides', '    if (keys.length > 0) this.#ports.persons.requireMayApprove(person);\n', ''],
    ],
  },
  {
    file: 'src/tools/builtin/people-tools.ts',
    rows: [
      ['somebody with admin:people makes owners', '        people.requireRightsOf(person, principal);\n', ''],
      ['an owner is invited without an approval', "before === 'owner' || role === 'owner' || losesKeys", 'losesKeys'],
    ],
  },
  {
    file: 'src/auth/approvals/standing-answer-store.ts',
    rows: [
      ['who asked counts when a rule raises the number of persons', ' && (needed === 1 || !isOwnRequest(record, person))', ''],
      ['an approval for an hour outlives the token', '        record.requester.tokenId === principal.token?.id &&\n', ''],
      [
        'an approval for an hour has no end',
        'return record.untilMs === undefined || this.#lifetimes.remainingMs(record.id) > 0;',
        'return true;',
      ],
      [
        'an agent lifts the refusal of its own devices',
        "if (record.answer === 'refuse' && isRefused(record, by)) {",
        'if (by === undefined) {',
      ],
    ],
  },
  {
    file: 'src/calls/composition/steps.ts',
    rows: [
      [
        'steps of composed tools are calls of the owner',
        '\n    principal,\n',
        "\n    principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] },\n",
      ],
      ['steps are run without being judged before', '    if (error) throw refusedStep(', '    if (error && index < 0) throw refusedStep('],
    ],
  },
  {
    file: 'src/automations/run/run-steps.ts',
    rows: [
      [
        'actions of automations are calls of the owner',
        '\n      principal,\n',
        "\n      principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] },\n",
      ],
    ],
  },
  {
    file: 'src/calls/stages/authorization.ts',
    within: ofFunction('requireValidToken'),
    rows: [
      ['no stage asks whether the token is still valid', 'if (!validity.isStillValid(principal)) {', 'if (principal.id === undefined) {'],
      ['no stage asks whether the token has expired', 'if (principal.token && ', 'if (principal.id === undefined && principal.token && '],
    ],
  },
  {
    file: 'src/calls/stages/authorization.ts',
    within: ofFunction('confirmEffects'),
    rows: [
      ['a call that waited is not asked again whether its token is valid', '  requireValidToken(call, context);\n', ''],
      [
        'a call that waited may run a tool that was replaced',
        'context.registry.get(call.tool.id) === call.tool',
        'call.tool !== undefined',
      ],
      [
        'a call that waited may have other effects',
        'effects.every((effect) => known.has(effectKey(effect)))',
        'effects.every((effect) => known.has(effectKey(effect)) || true)',
      ],
    ],
  },
  {
    file: 'src/calls/stages/authorization.ts',
    within: ofFunction('authorizedEffects'),
    rows: [
      [
        'the permissions that the definition requires for the parameters are not checked',
        '  requirePermissions(principal, requiredPermissions(call.tool, call.params), context.authorizer);\n',
        '',
      ],
      ['the permissions of effects are not checked', '  requireEffects(principal, effects, context);\n', ''],
    ],
  },
  {
    file: 'src/calls/stages/authorization.ts',
    within: ofFunction('authorizeEffects'),
    rows: [
      ['effects are permitted only when the call is about to run', 'authorizedEffects(call, context)', 'effectsOf(call.tool, call.params)'],
    ],
  },
  {
    file: 'src/calls/stages/consent.ts',
    within: ofFunction('judgeByRules'),
    rows: [['an agent changes a device that people refused to it', '  requireNotRefused(call, context);\n', '']],
  },
  {
    file: 'src/calls/stages/consent.ts',
    within: ofFunction('queueFor'),
    rows: [
      [
        'a dangerous call asks for approval without trusted time',
        "  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);\n",
        '',
      ],
    ],
  },
  {
    file: 'src/calls/stages/consent.ts',
    within: ofFunction('confirmRules'),
    rows: [
      [
        'a dangerous call that waited runs without trusted time',
        "  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);\n",
        '',
      ],
      ['an approved call may run another plan', '  if (now) requireApprovedPlan(call, now);\n', ''],
      [
        'a step may be another one than people approved',
        'const step = now && left && plannedStep({ call, now, left });',
        'const step = undefined as PlannedCall | undefined;',
      ],
    ],
  },
  {
    file: 'src/calls/stages/consent.ts',
    within: ofFunction('takeStep'),
    rows: [['a step that people approved may run more than once', 'left.splice(index, 1)[0]', 'left[index]']],
  },
  {
    file: 'src/calls/stages/consent.ts',
    within: ofFunction('personsNeeded'),
    rows: [
      ['no rule makes people approve a call', 'Math.max(ofTool, call.personsByRule)', 'ofTool'],
      ['people approve only what a rule says', 'Math.max(ofTool, call.personsByRule)', 'call.personsByRule'],
      ['one person is enough for every tool', '(call.tool.definition.metadata.approvalsNeeded ?? 1)', '1'],
    ],
  },
  {
    file: 'src/calls/stages/admission.ts',
    rows: [
      ['a session is not charged', '  context.sessions.charge(principal, sessionId);\n', ''],
      ['a token is not charged', '  context.rateLimiter.charge(principal);\n', ''],
      ['parameters that are too long pass', 'if (call.paramsBytes > maxBytes) throw', 'if (call.paramsBytes < 0) throw'],
      [
        'wrong parameters pass',
        '  const params = context.validator.parameters(call.tool.definition.parameters, call.params, LARGE_PARAMS_LIMITS);\n',
        '  let { params } = call;\n  try {\n    params = context.validator.parameters(call.tool.definition.parameters, params, LARGE_PARAMS_LIMITS);\n  } catch {}\n',
      ],
    ],
  },
  {
    file: 'src/calls/stages/execution.ts',
    rows: [
      ['a dangerous call runs though its intent was not written', '    if (intent.mustSync) throw failure;\n', ''],
      [
        'results that break the schema of their tool pass',
        'if (check.isValid) return checked;',
        'if (check.isValid || checked) return checked;',
      ],
    ],
  },
  {
    file: 'src/calls/call-audit.ts',
    rows: [
      ['calls that ended leave no row', '    await this.#collaborators.audit.record(outcome);\n', ''],
      [
        'refused calls leave no row',
        "if (outcome.error === 'RATE_LIMITED' && outcome.kind === 'refusal' && this.#isLeftOut(outcome)) return;",
        "if (outcome.kind === 'refusal') return;",
      ],
    ],
  },
  {
    file: 'src/bridge/bridge-service.ts',
    rows: [
      ['a lock is bridged without the word of the owner', 'if (dangerous && !mayBeDangerous) throw confirmationRequired(dangerous);', ''],
    ],
  },
  {
    file: 'src/bridge/bridge-entry.ts',
    rows: [
      [
        'a bridged scene gets a lock without the word of the owner',
        "if (present.isDangerous && !chosen.isDangerous) return 'dangerous';",
        '',
      ],
      [
        'a bridged scene gets more devices without the word of the owner',
        'present.permissions.every((permission) => chosen.permissions.includes(permission))',
        'present.permissions.length > 0',
      ],
    ],
  },
  {
    file: 'src/bridge/ecosystems.ts',
    rows: [
      ['an ecosystem that nobody let in gets tokens', '(!one && !this.#isExpected(bridge))', '(!one && bridge < 0)'],
      [
        'an ecosystem whose token was revoked gets another one',
        'one.bridge === bridge && this.#isRevoked(one)',
        'one.bridge < 0 && this.#isRevoked(one)',
      ],
    ],
  },
  {
    file: 'src/bridge/bridge-tokens.ts',
    rows: [
      [
        'an ecosystem does what the owner has not chosen',
        'permissions.every((permission) => token.permissions.includes(permission))',
        'permissions.length > token.permissions.length - 1_000',
      ],
    ],
  },
];

const ofPlaces = [...PLACES, ...AUTOMATION_PLACES].flatMap(({ rows, ...place }) =>
  rows.map(([name, text, instead]): Mutation => ({ ...place, name, text, instead })),
);

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
  ATTEMPTED: [
    'admission.refuseUnsupportedMode',
    'authorization.checkStaticPermissions',
    'authorization.checkFeatures',
    'authorization.refuseDisabledTools',
  ],
  JUDGED: ['admission.validateParameters', 'authorization.authorizeEffects', 'consent.applyRules'],
  PREFLIGHT: ['consent.peekApproval'],
  REHEARSAL: ['execution.requireRoute', 'consent.computeApprovalNeed'],
  TOOL_PREFLIGHT: ['authorization.checkCanAttempt'],
};

/** What a stage that checks nothing returns, where later stages need what the stage adds to the call. */
const UNCHECKED: Readonly<Record<string, string>> = {
  'consent.applyRules': '({ ...call, personsByRule: 0 })',
  'consent.computeApprovalNeed': '({ ...call, approvalNeed: undefined })',
  'execution.writeIntent': "({ ...call, run: { runId: 'run', logicalTimeMs: 0, randomSeed: '' } })",
};

/**
 * Stages for which that would be no fair test, since they compute what later stages need: `PLACES` takes their checks out.
 */
const COMPUTING = ['admission.validateParameters', 'authorization.authorizeEffects', 'execution.checkResult'];

/** Each stage is taken out, which the types notice, and replaced by one of its type that lets every call pass, which a test has to notice. */
const ofStages = Object.entries(STAGES).flatMap(([list, stages]) =>
  stages.flatMap((stage): readonly Mutation[] => {
    const place = { file: 'src/calls/stages.ts', within: { from: `const ${list}`, to: ';' }, text: `.pass(${stage})` };
    const missing: Mutation = { name: `${list} lacks ${stage}`, ...place, instead: '', breaksTypes: true };
    if (COMPUTING.includes(stage)) return [missing];
    return [missing, { name: `${list} has a ${stage} that checks nothing`, ...place, instead: `.pass(${uncheckedStage(stage)})` }];
  }),
);

/** A stage that lets every call pass. It keeps the name, by which a test knows the order of the stages. */
function uncheckedStage(stage: string): string {
  const [, name] = stage.split('.');
  const passing = `(call: CallFacts) => ${UNCHECKED[stage] ?? 'call'}`;
  return `Object.defineProperty(${passing}, 'name', { value: '${name}' }) as unknown as typeof ${stage}`;
}

/** Every protection of a call, taken out by itself. */
export const MUTATIONS: readonly Mutation[] = [...ofPipeline, ...ofMissingParts, ...ofPlaces, ...ofStages];
