import { createRequire } from 'node:module';
import vm from 'node:vm';
import JestRuntime from 'jest-runtime';

/**
 * Jest loads every library anew for every test file, in a realm of its own: that took more than half of the time of the
 * whole suite. Here a process loads a library once, for all files that it runs; our own code is loaded anew for each
 * file, as ever. Libraries and tests have to share one realm then, else an `Error` of the one is none to the other.
 */
const require = createRequire(import.meta.url);
const { dependencies, devDependencies } = require('../../package.json');
/**
 * `libxml2-wasm` keeps what a file registers; `canonicalize` has a default export alone, which is lost on this way; the
 * others are asked for their place.
 */
const LOADED_FOR_EACH_FILE = ['libxml2-wasm', 'canonicalize', 'swagger-ui-dist', '@asyncapi/specs', 'write-excel-file'];
const SHARED = new Set(
  Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !LOADED_FOR_EACH_FILE.includes(name) && !/^@?jest\b/u.test(name),
  ),
);

/** `fastify` of `fastify`, `ajv` of `ajv/dist/2020.js`, `@nestjs/core` of `@nestjs/core/x`. */
const packageOf = (name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/');
/** Jest writes `node:` before the name of whatever it takes for a module of Node. */
const plainName = (name) => name.replace(/^node:/u, '');
const isShared = (name) => name !== undefined && SHARED.has(packageOf(plainName(name)));

/** What Jest gets for the context of a file: the realm of the process itself, which `node:vm` knows by no name. */
export const THIS_REALM = Object.freeze({});

const withoutContext = ({ context, ...options }) => (context === THIS_REALM ? options : { ...options, context });
const inThisRealm = (Module) =>
  class extends Module {
    constructor(...args) {
      super(...args.slice(0, -1), withoutContext(args.at(-1)));
    }
  };
const { compileFunction, SourceTextModule, SyntheticModule } = vm;
vm.SourceTextModule = inThisRealm(SourceTextModule);
vm.SyntheticModule = inThisRealm(SyntheticModule);
vm.compileFunction = (code, parameters, { parsingContext, ...options }) =>
  compileFunction(code, parameters, parsingContext === THIS_REALM ? options : { ...options, parsingContext });

/** Jest asks for the class as a CommonJS module would export it. */
export const __esModule = true;

/** Modules that earlier files of this process have loaded, by the address under which Jest keeps them. */
const kept = new Map();
/** Where Jest finds the source maps of those, by path. */
const keptSourceMaps = new Map();
/** The one whose file runs: a module that an earlier one loaded imports by this one. */
let newest;

/** A module of a program or library, or of a package; not what tests bring, and not what asks Jest for its words. */
const isKept = (address, module) =>
  KEPT.test(address) && module.status === 'evaluated' && !module.dependencySpecifiers?.includes('@jest/globals');
const KEPT = /\/(?:apps|libs)\/[^/]+\/src\/(?!.*\.spec\.ts$)|\/node_modules\//u;

/** To Jest a shared library is a module of Node: it is named, not resolved, and required from outside. */
export default class SharedModules extends JestRuntime {
  constructor(...args) {
    super(...args);
    this.shareLibraries();
    this.shareModules();
  }

  shareModules() {
    newest = this;
    for (const [address, module] of kept) this.registries.esModuleRegistry.set(address, module);
    this.dynamicImport = this.esmLoader.dynamicImport;
    this.esmLoader.dynamicImport = (...args) => newest.dynamicImport(...args);
  }

  teardown() {
    for (const [address, module] of this.registries.esModuleRegistry)
      if (!kept.has(address) && isKept(address, module)) kept.set(address, module);
    for (const [path, map] of this.getSourceMaps()) keptSourceMaps.set(path, map);
    super.teardown();
  }

  getSourceMaps() {
    const mine = super.getSourceMaps();
    for (const [path, map] of keptSourceMaps) if (!mine.has(path)) mine.set(path, map);
    return mine;
  }

  shareLibraries() {
    const isCoreModule = this._resolution.isCoreModule.bind(this._resolution);
    this._resolution.isCoreModule = (name) => isShared(name) || isCoreModule(name);
    for (const name of ['resolveEsm', 'resolveEsmAsync', 'resolveCjs']) {
      const resolve = this._resolution[name].bind(this._resolution);
      this._resolution[name] = (from, to) => (isShared(to) ? to : resolve(from, to));
    }
    const requireCore = this.coreModule.require.bind(this.coreModule);
    this.coreModule.require = (name) => (isShared(name) ? require(plainName(name)) : requireCore(name));
  }
}
