import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** The programs, by the folder of their main module in apps/. */
const PROGRAMS = ['auditor', 'cli', 'gateway', 'reconciler', 'sandbox', 'witness', 'worker'];
/**
 * Packages that are many small modules and read no files. Each other package stays where it is: it is loaded from
 * node_modules, and is one with what another package loads there.
 */
const BUNDLED_PACKAGES = [
  ...['@nestjs/common', '@nestjs/core', '@nestjs/cqrs', '@nestjs/platform-fastify', 'rxjs'],
  ...['@peculiar/utils', 'asn1js', 'lossless-json', 'nodemailer', 'uuid', 'zod'],
];
/** In dist/. */
export const PROGRAMS_FOLDER = 'programs';

/**
 * Writes dist/programs/<name>.js: each program in few files, for to find, read and link a thousand modules is half of
 * the work of a start. A part that a program loads only when it needs it is a file of its own. Each module keeps its
 * own address: what it reads beside itself lies where the compiler put it.
 * @param {string} root the folder of package.json
 * @param {string} dist the folder of the compiled modules, by another name while the build lasts
 * @throws Error when esbuild is not installed or finds fault
 */
export async function bundlePrograms(root, dist) {
  const { build, stop } = await import('esbuild');
  const outdir = join(dist, PROGRAMS_FOLDER);
  const mains = PROGRAMS.map((name) => [name, join(dist, `apps/${name}/src/main.js`)]);
  const entryPoints = Object.fromEntries(mains.filter(([, main]) => existsSync(main)));
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'error',
    plugins: [packagesOutside(root), addressesKept(outdir, Object.values(entryPoints))],
  });
  // The program that is started next lives on in this process.
  await stop();
}

const packageOf = (specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0];

/** Leaves packages outside but those of the list, whose own imports must be what the programs find by that name, too. */
const packagesOutside = (root) => ({
  name: 'packages-outside',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./#]/ }, ({ path, kind, importer }) => {
      if (kind === 'entry-point') return undefined;
      const name = packageOf(path);
      if (BUNDLED_PACKAGES.includes(name)) return undefined;
      const [, importing] = importer.replaceAll('\\', '/').split('/node_modules/');
      const nested = importing && join(root, 'node_modules', packageOf(importing), 'node_modules', name);
      if (!nested || !existsSync(nested)) return { path, external: true };
      return { errors: [{ text: `${nested} is another ${name} than that of the programs` }] };
    });
  },
});

/** The main module's own address is that of the program, for by it a module knows that it is the one that was started. */
const addressesKept = (outdir, mains) => ({
  name: 'addresses-kept',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]dist[^\\/]*[\\/].*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (mains.includes(path) || !text.includes('import.meta.url')) return undefined;
      const address = `new URL(${JSON.stringify(relative(outdir, path).replaceAll('\\', '/'))}, import.meta.url).href`;
      return { contents: text.replaceAll('import.meta.url', address), loader: 'js' };
    });
  },
});
