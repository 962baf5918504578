//! What the documents show, tried as it stands there.

use std::fs;

use crate::house::House;

/// The blocks of a language in a document, in their order.
pub(crate) fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    page.split(begin.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap_or(rest)).collect()
}

#[test]
fn the_cases_of_the_page_on_policy_pass_against_its_policy() {
    let page = include_str!("../../../../docs/policy.md");
    let blocks = blocks(page, "yaml");
    let the = |mark: &str| {
        let found: Vec<&&str> = blocks.iter().filter(|block| block.starts_with(mark)).collect();
        assert_eq!(found.len(), 1, "one block begins with `{mark}`");
        *found[0]
    };
    let (policy, cases) = (the("# .ao/policy.yaml"), the("cases:"));
    let house = House::new();
    let folder = house.repository().join(".ao");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("policy.yaml"), policy).unwrap();
    fs::write(folder.join("policy.test.yaml"), cases).unwrap();
    house.ao(&["policy", "check"]).succeeds();
    let told = house.ao(&["policy", "test"]).succeeds();
    let count = cases.matches("- name:").count();
    assert!(told.out.contains(&format!("{count} cases, 0 failed")), "{}", told.out);
    assert!(count > 3, "the page has cases");
    // What else it shows of a policy is right by itself.
    for (n, part) in blocks.iter().filter(|block| ![policy, cases].contains(*block)).enumerate() {
        let file = house.path(&format!("part-{n}.yaml"));
        fs::write(&file, part).unwrap();
        house.ao(&["policy", "check", &file.display().to_string()]).succeeds();
    }
}
