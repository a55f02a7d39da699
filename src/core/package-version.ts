import manifest from '../../package.json' with { type: 'json' };

/** Version of the product, from its package.json. */
export function packageVersion(): string {
  return manifest.version;
}
