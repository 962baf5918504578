//! Advice about branches that will conflict with each other.

use std::collections::BTreeSet;

use super::{AdviceItem, AdviceKind, AdviceSubject, Known, shell};
use crate::forecast::{Clash, ClashSide};
use crate::outside::one_line;
use crate::state::State;

/// The number of clashes reported per project. If there are more, the whole matrix is easier to read.
const MOST: usize = 10;
/// The number of files that are named per clash.
const FILES: usize = 3;

/// Reports branches that will conflict, each pair once: an agent's workspace and its pull request count as one.
pub(super) fn clashes(known: &Known<'_>) -> Vec<AdviceItem> {
    let state = known.state;
    let of = state.projects.keys().flat_map(|project| {
        let mut told = BTreeSet::new();
        let news = state.clashes_in(project).iter().filter(move |clash| told.insert(whose(state, clash)));
        news.take(MOST).map(|clash| {
            let (a, b) = (name(state, &clash.a), name(state, &clash.b));
            let about = match &clash.a {
                ClashSide::Session(id) => AdviceSubject::Session(*id, a.clone()),
                ClashSide::Pull(pull) => AdviceSubject::Pull(pull.clone()),
            };
            let what = format!("{a} and {b} will conflict");
            let command =
                format!("ao conflicts {} {} --project {}", shell(&a), shell(&b), shell(project.as_str()));
            AdviceItem::new(AdviceKind::Clash, Some(project), about, what, files(clash)).command(command)
        })
    });
    of.collect()
}

fn whose(state: &State, clash: &Clash) -> (String, String) {
    let owner = |side: &ClashSide| match state.owner_of_side(side) {
        Some(session) => session.id.to_string(),
        None => name(state, side),
    };
    let (a, b) = (owner(&clash.a), owner(&clash.b));
    if a <= b { (a, b) } else { (b, a) }
}

fn name(state: &State, side: &ClashSide) -> String {
    match side {
        ClashSide::Session(id) => {
            state.sessions.get(id).map_or_else(|| id.to_string(), |session| session.spec.name.clone())
        }
        ClashSide::Pull(pull) => format!("!{}", pull.number),
    }
}

fn files(clash: &Clash) -> String {
    let named: Vec<String> = clash.files.iter().take(FILES).map(|file| one_line(&file.path)).collect();
    let more = match clash.files.len().saturating_sub(FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("both change {}{more}; whoever lands second has to rebase", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::ClashedFile;
    use crate::{ProjectId, PullId};

    #[test]
    fn what_they_disagree_on_is_named_and_much_is_counted() {
        let project = ProjectId::new("app");
        let pull = |number| ClashSide::Pull(PullId { project: project.clone(), number });
        let file = |path: &str| ClashedFile { path: path.into(), hunks: vec![] };
        let clash = Clash { a: pull(1), b: pull(2), files: ["a", "b\nc", "d", "e"].map(file).into() };
        assert_eq!(files(&clash), "both change a, bc, d and 1 more; whoever lands second has to rebase");
    }
}
