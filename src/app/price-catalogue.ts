// The catalogue of prices that comes with the service: the data of a pinned package, and nothing of its code's. The only file that
// knows the package. No network is used: what is bundled is all.
import { readFile } from 'node:fs/promises';
import type { PriceCatalogue } from '../lane/catalogue-import.ts';

const PACKAGE = '@pydantic/genai-prices';

/** Reads it. Throws where the package is not as it was when it was pinned. */
export async function loadPriceCatalogue(): Promise<PriceCatalogue> {
  const { waitForUpdate } = await import('@pydantic/genai-prices');
  // Without an update that was asked for, which none is, this is what the package holds.
  const data = await waitForUpdate();
  const manifest = await readFile(new URL('../package.json', import.meta.resolve(PACKAGE)), 'utf8');
  const { version } = JSON.parse(manifest) as { readonly version?: unknown };
  if (typeof version !== 'string' || !Array.isArray(data)) throw new TypeError(`${PACKAGE} holds no catalogue`);
  return { name: PACKAGE, version, data };
}
