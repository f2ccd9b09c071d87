import { refused, type SchemaFiles, type SchemaNode } from './schema-files.js';

/**
 * What may stand where, read from the schema files themselves, so that there is no second table that could disagree
 * with them.
 */
export interface ElementShape {
  name: string;
  /** May it repeat? */
  many: boolean;
  attributes: string[];
  /** In schema order; undefined for an element that holds a text. */
  children?: ElementShape[];
}

export interface DocumentShape {
  /** Attributes of `documents` besides `version`. */
  envelope: string[];
  action: ElementShape;
}

/** Understands elements, sequences, choices, alls, groups, references, extensions, named and inline types. */
export class SchemaModel {
  private readonly components = new Map<string, SchemaNode>();
  private readonly actions: ReadonlyMap<string, SchemaNode>;
  private readonly envelope: string[];
  private readonly shapes = new Map<string, DocumentShape>();

  constructor(files: SchemaFiles) {
    for (const schema of files.nodes.values())
      for (const node of schema.children)
        if (node.attributes.name !== undefined) this.components.set(`${node.tag} ${node.attributes.name}`, node);
    const root = this.typeOf(this.component('element', 'documents'));
    this.envelope = root === undefined ? [] : this.attributes(root).filter((name) => name !== 'version');
    const actions = root === undefined ? [] : this.elementsIn(root);
    this.actions = new Map(actions.map((node) => [node.attributes.name ?? '', node]));
    if (actions.length === 0) throw refused(files.root, 1, '<documents> allows no action element');
  }

  /** Names of the action elements. */
  get elements(): string[] {
    return [...this.actions.keys()];
  }

  /** The number that the type's `action_id` is fixed to, where it is. */
  actionIdOf(element: string): number | undefined {
    const node = this.actions.get(element);
    const type = node && this.typeOf(node);
    const fixed =
      type && this.attributeNodes(type).find((one) => one.attributes.name === 'action_id')?.attributes.fixed;
    return fixed === undefined ? undefined : Number(fixed);
  }

  /** What each named type of texts allows, in a form that can be compared. */
  get simpleTypes(): Map<string, string> {
    const named = [...this.components].filter(([key]) => key.startsWith('simpleType '));
    return new Map(named.map(([key, node]) => [key.slice('simpleType '.length), rulesOf(node)]));
  }

  /** The type of XML Schema itself, `dateTime`, that a named type of texts narrows; undefined where it has none. */
  baseOf(type: string): string | undefined {
    let name: string | undefined = type;
    for (let depth = 0; name !== undefined && depth < MOST_DERIVATIONS; depth += 1) {
      const node = this.components.get(`simpleType ${local(name)}`);
      if (node === undefined) return local(name);
      name = node.children.find((one) => one.tag === 'restriction')?.attributes.base;
    }
    return undefined;
  }

  /** Undefined for an element that the set does not have. */
  shapeOf(element: string): DocumentShape | undefined {
    const known = this.shapes.get(element);
    if (known !== undefined) return known;
    const node = this.actions.get(element);
    if (node === undefined) return undefined;
    const shape = { envelope: this.envelope, action: this.shape(node, false, []) };
    this.shapes.set(element, shape);
    return shape;
  }

  /** `within`: the types around it; one that stands in itself is not followed again. */
  private shape(node: SchemaNode, inMany: boolean, within: readonly SchemaNode[]): ElementShape {
    const type = this.typeOf(node);
    const children =
      type === undefined || within.includes(type)
        ? []
        : this.children(type, { inMany: false, within: [...within, type] });
    return {
      name: node.attributes.name ?? '',
      many: inMany || isMany(node),
      attributes: type === undefined ? [] : this.attributes(type),
      ...(children.length === 0 ? {} : { children }),
    };
  }

  private children(node: SchemaNode, around: { inMany: boolean; within: readonly SchemaNode[] }): ElementShape[] {
    return node.children.flatMap((child) => {
      const inMany = around.inMany || isMany(child);
      if (child.tag === 'element') return [this.shape(this.resolved(child), inMany, around.within)];
      return this.contentOf(child).flatMap((one) => this.children(one, { ...around, inMany }));
    });
  }

  private elementsIn(node: SchemaNode): SchemaNode[] {
    return node.children.flatMap((child) =>
      child.tag === 'element' ? [this.resolved(child)] : this.contentOf(child).flatMap((one) => this.elementsIn(one)),
    );
  }

  /** What stands in a part that is no element: itself, the group that it refers to, or what it extends, and itself. */
  private contentOf(part: SchemaNode): SchemaNode[] {
    switch (part.tag) {
      case 'sequence':
      case 'choice':
      case 'all':
      case 'complexContent':
      case 'restriction':
        return [part];
      case 'group':
        return [this.component('group', part.attributes.ref ?? '')];
      case 'extension': {
        const base = this.components.get(`complexType ${local(part.attributes.base)}`);
        return base === undefined ? [part] : [base, part];
      }
      default:
        return [];
    }
  }

  private attributes(type: SchemaNode): string[] {
    return this.attributeNodes(type).map((node) => node.attributes.name ?? local(node.attributes.ref));
  }

  private attributeNodes(node: SchemaNode): SchemaNode[] {
    return node.children.flatMap((child) => {
      if (child.tag === 'attribute') return [child];
      if (child.tag === 'attributeGroup')
        return this.attributeNodes(this.component('attributeGroup', child.attributes.ref ?? ''));
      if (child.tag === 'extension') return this.contentOf(child).flatMap((one) => this.attributeNodes(one));
      return child.tag === 'simpleContent' || child.tag === 'complexContent' ? this.attributeNodes(child) : [];
    });
  }

  private resolved(node: SchemaNode): SchemaNode {
    return node.attributes.ref === undefined ? node : this.component('element', node.attributes.ref);
  }

  /** The complex type of an element, inline or named. */
  private typeOf(element: SchemaNode): SchemaNode | undefined {
    const { type } = element.attributes;
    if (type === undefined) return element.children.find((one) => one.tag === 'complexType');
    return this.components.get(`complexType ${local(type)}`);
  }

  private component(tag: string, name: string): SchemaNode {
    const found = this.components.get(`${tag} ${local(name)}`);
    if (found === undefined) throw new Error(`the schema set has no ${tag} ${name}`);
    return found;
  }
}

/** Prefixes, comments and documentation are no rules. */
const rulesOf = ({ tag, attributes: { name: _, base, ...rules }, children }: SchemaNode): string => {
  const inner = children.filter((one) => one.tag !== 'annotation').map(rulesOf);
  return JSON.stringify([tag, local(base), Object.entries(rules).sort(), inner.sort()]);
};

const MOST_DERIVATIONS = 16;

const local = (name = ''): string => name.slice(name.indexOf(':') + 1);

const isMany = ({ attributes: { maxOccurs } }: SchemaNode): boolean =>
  maxOccurs !== undefined && maxOccurs !== '0' && maxOccurs !== '1';
