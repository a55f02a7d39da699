import { type AuthorizationServer, oauthError } from '../src/core/auth/oauth.ts';
import { permissionDenied } from '../src/core/errors.ts';

const refuseClient = async () => {
  throw oauthError('invalid_client', 'No client is known here');
};
const refusePerson = (): never => {
  throw permissionDenied('Nobody can consent here');
};

/** An authorization server that knows no client and no person. */
export const NO_OAUTH: AuthorizationServer = {
  endpoints: { register: refuseClient, token: refuseClient, revoke: refuseClient, authorizeDevice: refuseClient },
  consent: {
    open: async () => refusePerson(),
    openDevice: async () => refusePerson(),
    preview: refusePerson,
    allow: async () => refusePerson(),
    deny: async () => refusePerson(),
    grants: refusePerson,
    endGrant: async () => refusePerson(),
  },
};
