//! What a URL and the variables of the environment say of a store.

use rusty_s3::{Bucket, Credentials, UrlStyle};
use weft_format::{Code, Error, Result};

/// Whether a word is a URL rather than a path.
pub fn is_url(word: &str) -> bool {
    word.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// A variable of the environment; one that is empty is none.
#[allow(clippy::disallowed_methods, reason = "the environment says where a store is, as it does for other programs")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Where an S3 store is, and who asks.
pub(crate) struct S3Place {
    pub(crate) bucket: Bucket,
    pub(crate) credentials: Credentials,
    /// Names of objects begin with this: empty, or it ends with `/`.
    pub(crate) prefix: String,
    /// For messages.
    pub(crate) url: String,
    /// The file with who vouches for it; none: the machine's.
    pub(crate) authorities: Option<String>,
}

impl S3Place {
    /// Reads `s3://BUCKET/PREFIX`, and the variables that say the rest.
    pub(crate) fn parse(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<S3Place> {
        let wrong = |what: String, hint: &str| Error::new(Code::InvalidParameterValue, what).hint(hint.to_owned());
        let rest = url.strip_prefix("s3://");
        let rest =
            rest.ok_or_else(|| wrong(format!("{url} is no place for objects"), "s3://BUCKET/PREFIX or file:///DIR"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        if bucket.is_empty() || !bucket.chars().all(is_good) {
            // Before an @ may stand what nobody is to see.
            let shown = bucket.rsplit('@').next().unwrap_or_default();
            return Err(wrong(format!("{shown:?} is no name of a bucket"), "s3://BUCKET/PREFIX"));
        }
        let prefix = prefix.trim_end_matches('/');
        if !prefix.is_empty() {
            crate::names::check(prefix)
                .map_err(|error| wrong(format!("in {url}, {error}"), "letters, digits and - _ . between slashes"))?;
        }
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let needs = |name: &str| {
            let what = format!("{url} needs the variable {name}, which is not set");
            variable(name).ok_or_else(|| wrong(what, "as the AWS command line has it"))
        };
        let (key, secret) = (needs("AWS_ACCESS_KEY_ID")?, needs("AWS_SECRET_ACCESS_KEY")?);
        let credentials = match variable("AWS_SESSION_TOKEN") {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        };
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let named = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        let (endpoint, style, region) = match (named, region) {
            (Some(endpoint), region) => (endpoint, UrlStyle::Path, region.unwrap_or_else(|| "us-east-1".to_owned())),
            (None, Some(region)) => {
                // A certificate for *.s3.amazonaws.com does not fit a.b.s3.amazonaws.com.
                let style = if bucket.contains('.') { UrlStyle::Path } else { UrlStyle::VirtualHost };
                (format!("https://s3.{region}.amazonaws.com"), style, region)
            }
            (None, None) => {
                let what = format!("{url} needs the variable AWS_REGION, which is not set");
                return Err(wrong(what, "the bucket's region; or AWS_ENDPOINT_URL for a store that is not Amazon's"));
            }
        };
        let address = endpoint.parse().ok();
        let bucket = address.and_then(|address| Bucket::new(address, style, bucket.to_owned(), region).ok());
        let bucket = bucket.ok_or_else(|| {
            wrong("the variable AWS_ENDPOINT_URL is no address of a store".to_owned(), "https://HOST:PORT")
        })?;
        let authorities = variable("AWS_CA_BUNDLE").or_else(|| variable("SSL_CERT_FILE"));
        Ok(S3Place { bucket, credentials, prefix, url: url.to_owned(), authorities })
    }

    /// Whether the store is asked over TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.bucket.base_url().scheme() == "https"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<S3Place> {
        let keys = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "hush")];
        let all: Vec<(&str, &str)> = keys.iter().chain(variables).copied().collect();
        S3Place::parse(url, &|name| all.iter().rev().find(|(known, _)| *known == name).map(|(_, is)| (*is).to_owned()))
    }

    #[test]
    fn places_are_read_as_other_programs_read_them() {
        let amazon = parse("s3://shop/backups/one/", &[("AWS_REGION", "eu-west-1")]).unwrap();
        assert_eq!(amazon.prefix, "backups/one/");
        assert_eq!(amazon.bucket.object_url("a").as_str(), "https://shop.s3.eu-west-1.amazonaws.com/a");
        let dotted = parse("s3://shop.weft", &[("AWS_DEFAULT_REGION", "eu-west-1")]).unwrap();
        assert_eq!((dotted.prefix.as_str(), dotted.bucket.base_url().path()), ("", "/shop.weft/"));
        let other = parse("s3://shop", &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")]).unwrap();
        assert_eq!(other.bucket.object_url("a").as_str(), "http://127.0.0.1:9000/shop/a");
        assert!(!other.has_tls() && amazon.has_tls());
    }

    #[test]
    fn what_is_wrong_is_named_and_no_secret_is_told() {
        for (url, variables, named) in [
            ("s3://shop", &[][..], "AWS_REGION"),
            ("s3://", &[], "bucket"),
            ("s3://Shop", &[], "bucket"),
            ("s3://key:hush@shop", &[], "bucket"),
            ("s3://shop/../other", &[("AWS_REGION", "a")], "object"),
            ("gs://shop", &[], "gs://shop"),
            ("s3://shop", &[("AWS_ENDPOINT_URL", "127.0.0.1:9000")], "address"),
        ] {
            let Err(error) = parse(url, variables) else { panic!("{url} is taken") };
            assert_eq!(error.code(), Code::InvalidParameterValue, "{url}");
            assert!(error.message().contains(named) && !error.to_string().contains("hush"), "{url}: {error}");
        }
        let missing = S3Place::parse("s3://shop", &|_| None).err().unwrap();
        assert!(missing.message().contains("AWS_ACCESS_KEY_ID"), "{missing}");
    }

    #[test]
    fn urls_are_told_from_paths() {
        assert!(is_url("s3://a") && is_url("file:///a") && is_url("gs://b/c"));
        assert!(!is_url("/a/b") && !is_url("a") && !is_url("./x://y") && !is_url("://"));
    }
}
