import { AtmoError } from '../../core/errors.ts';

/** An address of the configuration file. CONFIG_INVALID where it is none, or holds a password, which belongs elsewhere. */
export function configuredUrl(text: string, setting: string): URL {
  const url = URL.parse(text);
  if (!url) throw new AtmoError('CONFIG_INVALID', `${setting} is no address such as https://example.org/path`);
  if (url.username === '' && url.password === '') return url;
  throw new AtmoError('CONFIG_INVALID', `${setting} holds a user or password; the file may be read by others, set the secret beside it`);
}
