//! Decides whose code each function of the call tree is.

use std::collections::BTreeSet;

use rtmark_observe::{Calls, Node};
use rtmark_sim::Machine;

use crate::api::Kind;
use crate::roles::Roles;
use crate::wrappers::Wrappers;

/// The exceptions through which kernels switch and are called.
pub const SVCALL: u16 = 11;
pub const PENDSV: u16 = 14;

/// The owner of a node's code in the call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Application,
    Interrupt,
    Kernel,
    Idle,
}

/// What is known about a node.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    pub owner: Owner,
    /// Who owns what a function of the kernel's calls back.
    pub called_back: Owner,
    /// Whether it is an API function called from outside the kernel.
    pub is_call: bool,
}

/// What the classes of nodes follow from.
#[derive(Clone, Copy, Debug)]
pub struct CallTree<'r, 'a> {
    pub calls: &'r Calls<'a>,
    pub roles: &'r Roles<'a>,
    pub wrappers: &'r Wrappers<'a>,
}

/// The classes of the nodes so far.
#[derive(Debug)]
pub struct Classes {
    /// The roots of stacks that belong to the kernel's own exceptions.
    kernels_roots: [String; 2],
    /// By node.
    of_nodes: Vec<Class>,
    /// The nodes of loops that are idle by now.
    idle_loops: BTreeSet<usize>,
}

impl Classes {
    /// Creates it for a machine's exceptions, without nodes.
    pub fn new(machine: &Machine) -> Self {
        let root = |exception| format!("[{}]", machine.soc().core.exception_name(exception));
        Self {
            kernels_roots: [SVCALL, PENDSV].map(root),
            of_nodes: Vec::new(),
            idle_loops: BTreeSet::new(),
        }
    }

    /// Classifies a node by its callers and its name.
    pub fn of(&mut self, node: Node, tree: CallTree<'_, '_>) -> Class {
        while self.of_nodes.len() <= node.number() {
            // Callers have lower numbers.
            let next = tree.calls.nodes().nth(self.of_nodes.len()).unwrap_or(node);
            let class = self.classify(next, tree);
            self.of_nodes.push(class);
            if self.begins_idle_loop(next, tree) {
                // What its caller calls is idle from now on.
                self.of_nodes.clear();
            }
        }
        self.of_nodes[node.number()]
    }

    /// Returns whether a node is a function by which its caller turns out to be idle.
    fn begins_idle_loop(
        &mut self,
        node: Node,
        CallTree { calls, roles, .. }: CallTree<'_, '_>,
    ) -> bool {
        let caller = calls.ancestors(node).nth(1);
        roles.of(calls.name(node)) == Some(Kind::Idle)
            && caller.is_some_and(|caller| {
                roles.api().loops_idle(calls.name(caller))
                    && self.idle_loops.insert(caller.number())
            })
    }

    fn classify(&self, node: Node, CallTree { calls, roles, wrappers }: CallTree<'_, '_>) -> Class {
        let mut above = calls.ancestors(node).skip(1);
        let parent = above.next();
        let name = calls.name(node);
        let root = calls.ancestors(node).last().map_or("", |root| calls.name(root));
        let is_handler = root.starts_with('[') && !root.starts_with("[0x");
        let own = if is_handler { Owner::Interrupt } else { Owner::Application };
        let inherited = match parent {
            None if self.kernels_roots.iter().any(|its| its == root) => Owner::Kernel,
            None => own,
            Some(parent) => {
                let owner = self.of_nodes[parent.number()].owner;
                let is_told = roles.of(name).is_some();
                if owner == Owner::Kernel
                    && !is_told
                    && roles.api().calls_application(calls.name(parent))
                {
                    own
                } else {
                    owner
                }
            }
        };
        let outside = matches!(inherited, Owner::Application | Owner::Interrupt);
        let class = |owner| Class { owner, called_back: own, is_call: false };
        match roles.of(name).filter(|_| !wrappers.contains(name)) {
            _ if self.idle_loops.contains(&node.number()) => class(Owner::Idle),
            Some(Kind::Application) => class(own),
            Some(Kind::Idle) => class(Owner::Idle),
            // The idle thread does it because there is nothing else to do.
            Some(_) if inherited == Owner::Idle => class(Owner::Idle),
            Some(Kind::Internal) => class(Owner::Kernel),
            Some(Kind::Called) => {
                let is_call = outside || roles.api().is_system_call(name);
                Class { is_call, ..class(Owner::Kernel) }
            }
            None => class(inherited),
        }
    }
}
