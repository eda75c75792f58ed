//! The ValidatingAdmissionPolicies and their bindings, for `kubectl apply`.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec, Validation,
    Variable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Action, Admission, Check, Policy, TABLE, checks, expression, hosts};
use ingressd_objects::yaml::document;

/// The annotations of the object, which may be missing.
const ANNOTATIONS: &str = "has(object.metadata.annotations) ? object.metadata.annotations : {}";

impl Admission<'_> {
    /// One document for each policy with checks, and one for its binding.
    pub fn documents(&self) -> Vec<String> {
        let asked = Policy::ALL.into_iter().map(|policy| (policy, self.checks(policy)));
        let asked = asked.filter(|(_, checks)| !checks.is_empty());
        asked
            .flat_map(|(policy, checks)| [document(&self.policy(policy, checks)), document(&self.binding(policy))])
            .collect()
    }

    fn policy(&self, policy: Policy, checks: Vec<Check<'_>>) -> ValidatingAdmissionPolicy {
        let rule = NamedRuleWithOperations {
            api_groups: words(&["networking.k8s.io"]),
            api_versions: words(&["v1"]),
            operations: words(&["CREATE", "UPDATE"]),
            resources: words(&["ingresses"]),
            ..NamedRuleWithOperations::default()
        };
        let constraints = MatchResources { resource_rules: Some(vec![rule]), ..MatchResources::default() };
        let spec = ValidatingAdmissionPolicySpec {
            // An object that exceeds the cost limit of CEL is refused.
            failure_policy: Some("Fail".to_owned()),
            match_constraints: Some(constraints),
            match_conditions: Some(self.conditions()),
            variables: Some(variables(policy)),
            validations: Some(checks.into_iter().map(validation).collect()),
            ..ValidatingAdmissionPolicySpec::default()
        };
        ValidatingAdmissionPolicy { metadata: self.metadata(policy), spec: Some(spec), status: None }
    }

    fn binding(&self, policy: Policy) -> ValidatingAdmissionPolicyBinding {
        let action = match self.action(policy) {
            Action::Deny => "Deny",
            Action::Warn => "Warn",
            Action::Audit | Action::Off => "Audit",
        };
        let spec = ValidatingAdmissionPolicyBindingSpec {
            policy_name: self.name_of(policy),
            validation_actions: vec![action.to_owned()],
            ..ValidatingAdmissionPolicyBindingSpec::default()
        };
        ValidatingAdmissionPolicyBinding { metadata: self.metadata(policy), spec }
    }

    fn metadata(&self, policy: Policy) -> ObjectMeta {
        ObjectMeta { name: Some(self.name_of(policy)), ..ObjectMeta::default() }
    }

    /// The requests that are checked: those for objects of our classes that change the spec or
    /// annotations. Other changes stay possible, for example to remove a finalizer, so that an
    /// object from before the policy can be deleted.
    fn conditions(&self) -> Vec<MatchCondition> {
        let condition = |name: &str, expression: String| MatchCondition { name: name.to_owned(), expression };
        let classes = expression::list(self.classes.iter().map(|class| &**class));
        let rules = &self.options.classes;
        let legacy = expression::list(rules.iter().filter_map(|rule| rule.legacy_class.as_deref()));
        let without = rules.iter().any(|rule| rule.without_class);
        const LEGACY: &str = "'kubernetes.io/ingress.class'";
        let named = "has(object.metadata.annotations) && 'kubernetes.io/ingress.class' in object.metadata.annotations";
        let own = format!(
            "has(object.spec.ingressClassName) ? object.spec.ingressClassName in {classes} : {named} ? \
             object.metadata.annotations[{LEGACY}] in {legacy} : {without}"
        );
        let old = ANNOTATIONS.replace("object.", "oldObject.");
        let changes =
            format!("request.operation == 'CREATE' || object.spec != oldObject.spec || ({ANNOTATIONS}) != ({old})");
        vec![
            condition("of-our-classes", own),
            condition("asks-for-something-else", changes),
            condition("is-not-being-deleted", "!has(object.metadata.deletionTimestamp)".to_owned()),
        ]
    }
}

fn variables(policy: Policy) -> Vec<Variable> {
    let variable = |name: &str, expression: String| Variable { name: name.to_owned(), expression };
    match policy {
        Policy::Values | Policy::Trust | Policy::Unserved => vec![variable("annotations", ANNOTATIONS.to_owned())],
        Policy::Unknown => {
            vec![variable("annotations", ANNOTATIONS.to_owned()), variable("known", checks::known(TABLE))]
        }
        Policy::Paths => Vec::new(),
        Policy::Hosts => {
            vec![variable("hosts", hosts::ASKED.to_owned()), variable("labels", hosts::LABELS.to_owned())]
        }
    }
}

fn validation(check: Check<'_>) -> Validation {
    Validation {
        expression: check.expression,
        message: Some(check.message),
        message_expression: check.naming,
        reason: None,
    }
}

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}
