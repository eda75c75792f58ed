//! The facts about a client's address in GeoIP2 databases, by the names that ingress-nginx gives
//! them. It must not know where the databases are.

use std::fmt;

/// A database of GeoIP2 or GeoLite2, by what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GeoDatabase {
    /// Whose network an address is of.
    Asn,
    /// Whether the address belongs to a service that hides its clients.
    AnonymousIp,
    /// Where it is, down to the city.
    City,
    /// How it is connected.
    ConnectionType,
    Country,
    /// Who provides it.
    Isp,
}

impl GeoDatabase {
    /// Their names in those of files.
    const NAMES: [(&'static str, GeoDatabase); 6] = [
        ("ASN", GeoDatabase::Asn),
        ("Anonymous-IP", GeoDatabase::AnonymousIp),
        ("City", GeoDatabase::City),
        ("Connection-Type", GeoDatabase::ConnectionType),
        ("Country", GeoDatabase::Country),
        ("ISP", GeoDatabase::Isp),
    ];

    /// The one that a file of this name holds, such as `GeoLite2-City.mmdb`.
    pub fn of_file(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".mmdb")?;
        let name = name.strip_prefix("GeoLite2-").or_else(|| name.strip_prefix("GeoIP2-"))?;
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, database)| *database)
    }

    /// Its name in that of its file.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, database)| *database == self).map_or("", |(name, _)| name)
    }
}

use GeoDatabase::{AnonymousIp, Asn, City, ConnectionType, Country, Isp};

/// Variables, sorted, with the databases that have them and where in these.
const VARIABLES: &[(&str, GeoDatabase, &str)] = &[
    ("geoip2_asn", Asn, "autonomous_system_number"),
    ("geoip2_asn", Isp, "autonomous_system_number"),
    ("geoip2_city", City, "city names en"),
    ("geoip2_city_continent_code", City, "continent code"),
    ("geoip2_city_continent_name", City, "continent names en"),
    ("geoip2_city_country_code", City, "country iso_code"),
    ("geoip2_city_country_geoname_id", City, "country geoname_id"),
    ("geoip2_city_country_name", City, "country names en"),
    ("geoip2_city_geoname_id", City, "city geoname_id"),
    ("geoip2_connection_type", ConnectionType, "connection_type"),
    ("geoip2_continent_code", Country, "continent code"),
    ("geoip2_continent_geoname_id", Country, "continent geoname_id"),
    ("geoip2_continent_name", Country, "continent names en"),
    ("geoip2_country_code", Country, "country iso_code"),
    ("geoip2_country_geoname_id", Country, "country geoname_id"),
    ("geoip2_country_name", Country, "country names en"),
    ("geoip2_dma_code", City, "location metro_code"),
    ("geoip2_is_anon", AnonymousIp, "is_anonymous"),
    ("geoip2_is_anonymous", AnonymousIp, "default=0 is_anonymous"),
    ("geoip2_is_anonymous_vpn", AnonymousIp, "default=0 is_anonymous_vpn"),
    ("geoip2_is_hosting_provider", AnonymousIp, "default=0 is_hosting_provider"),
    ("geoip2_is_public_proxy", AnonymousIp, "default=0 is_public_proxy"),
    ("geoip2_is_tor_exit_node", AnonymousIp, "default=0 is_tor_exit_node"),
    ("geoip2_isp", Isp, "isp"),
    ("geoip2_isp_org", Isp, "organization"),
    ("geoip2_latitude", City, "location latitude"),
    ("geoip2_longitude", City, "location longitude"),
    ("geoip2_org", Asn, "autonomous_system_organization"),
    ("geoip2_postal_code", City, "postal code"),
    ("geoip2_region_code", City, "subdivisions 0 iso_code"),
    ("geoip2_region_geoname_id", City, "subdivisions 0 geoname_id"),
    ("geoip2_region_name", City, "subdivisions 0 names en"),
    ("geoip2_subregion_code", City, "subdivisions 1 iso_code"),
    ("geoip2_subregion_geoname_id", City, "subdivisions 1 geoname_id"),
    ("geoip2_subregion_name", City, "subdivisions 1 names en"),
    ("geoip2_time_zone", City, "location time_zone"),
];

/// What one of them tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GeoVariable(&'static str);

impl GeoVariable {
    /// The variable of this name, as ingress-nginx has it.
    pub fn named(name: &str) -> Option<Self> {
        VARIABLES.iter().find(|(known, ..)| *known == name).map(|(known, ..)| GeoVariable(known))
    }

    /// All of them, sorted.
    pub fn all() -> impl Iterator<Item = Self> {
        let is_first = |index: &usize| *index == 0 || VARIABLES[*index].0 != VARIABLES[index - 1].0;
        (0..VARIABLES.len()).filter(is_first).map(|index| GeoVariable(VARIABLES[index].0))
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The databases that have it, with the way to it in each.
    pub fn places(self) -> impl Iterator<Item = (GeoDatabase, &'static str)> {
        VARIABLES.iter().filter(move |(name, ..)| *name == self.0).map(|(_, database, way)| (*database, *way))
    }
}

impl fmt::Display for GeoVariable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names_and_variables_by_theirs() {
        assert!(VARIABLES.is_sorted_by(|one, other| (one.0, one.1) < (other.0, other.1)));
        for (name, expected) in [
            ("GeoLite2-City.mmdb", Some(City)),
            ("GeoIP2-Anonymous-IP.mmdb", Some(AnonymousIp)),
            ("GeoLite2-ASN.mmdb", Some(Asn)),
            ("GeoLite2-City.mmdb.gz", None),
            ("City.mmdb", None),
            ("GeoLite2-Town.mmdb", None),
        ] {
            assert_eq!(GeoDatabase::of_file(name), expected, "{name}");
        }
        assert_eq!(GeoVariable::named("geoip2_asn").map(|name| name.places().count()), Some(2));
        assert_eq!(GeoVariable::named("geoip2_asn_x"), None);
        assert_eq!(GeoVariable::all().count(), VARIABLES.len() - 1);
    }
}
