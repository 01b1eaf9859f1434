//! Problems of CUTEst whose files have a size parameter: the set `large`.

/// About how many variables the problems of the set have.
pub const SIZES: [u32; 3] = [1_000, 10_000, 100_000];

/// A file with a size parameter.
#[derive(Clone, Copy, Debug)]
pub struct Growing {
    /// The problem.
    pub name: &'static str,
    /// Its size parameter.
    pub parameter: &'static str,
    /// How many variables one unit of the parameter adds.
    pub variables: u32,
}

impl Growing {
    /// How the problem with about so many variables is written in a list of problems.
    pub fn at(&self, size: u32) -> String {
        format!("{}:{}={}", self.name, self.parameter, size / self.variables)
    }
}

const fn growing(name: &'static str, parameter: &'static str, variables: u32) -> Growing {
    Growing { name, parameter, variables }
}

/// The size that the name of a set such as `large-1000` means.
pub fn size(set: &str) -> Option<u32> {
    let size = set.strip_prefix("large-")?.parse().ok()?;
    SIZES.contains(&size).then_some(size)
}

/// The problems: objectives with and without constraints that are linear, nonlinear, equalities, inequalities and bounds, systems of
/// equations, and optimal control.
#[rustfmt::skip]
pub const GROWING: [Growing; 60] = [
    growing("BLOCKQP2", "N", 2),
    growing("BLOWEYA", "N", 2),
    growing("BLOWEYB", "N", 2),
    growing("BROYDN3D", "N", 1),
    growing("CLNLBEAM", "NI", 3),
    growing("CVXQP1", "N", 1),
    growing("DRUGDIS", "NI", 3),
    growing("DRUGDISE", "NI", 6),
    growing("DTOC1NB", "N", 6),
    growing("DTOC2", "N", 6),
    growing("DTOC5", "N", 2),
    growing("EXTROSNBNE", "N", 1),
    growing("GILBERT", "N", 1),
    growing("HAGER1", "N", 2),
    growing("HAGER2", "N", 2),
    growing("HAGER3", "N", 2),
    growing("HAGER4", "N", 2),
    growing("HUESTIS", "K", 1),
    growing("LIARWHDNE", "N", 1),
    growing("LISWET1", "N", 1),
    growing("LISWET12", "N", 1),
    growing("LISWET6", "N", 1),
    growing("LISWET8", "N", 1),
    growing("LUKVLE1", "N", 1),
    growing("LUKVLE12", "N", 1),
    growing("LUKVLE13", "N", 1),
    growing("LUKVLE15", "N", 1),
    growing("LUKVLE3", "N", 1),
    growing("LUKVLE4", "N", 1),
    growing("LUKVLE7", "N", 1),
    growing("LUKVLI10", "N", 1),
    growing("LUKVLI15", "N", 1),
    growing("LUKVLI16", "N", 1),
    growing("LUKVLI17", "N", 1),
    growing("LUKVLI18", "N", 1),
    growing("LUKVLI3", "N", 1),
    growing("LUKVLI4", "N", 1),
    growing("LUKVLI7", "N", 1),
    growing("LUKVLI8", "N", 1),
    growing("LUKVLI9", "N", 1),
    growing("MOREBVNE", "N", 1),
    growing("NCVXQP2", "N", 1),
    growing("NCVXQP3", "N", 1),
    growing("NCVXQP7", "N", 1),
    growing("OPTMASS", "N", 6),
    growing("ORTHRDS2", "NPTS", 2),
    growing("ORTHREGC", "NPTS", 2),
    growing("ORTHREGE", "NPTS", 3),
    growing("OSCIGRNE", "N", 1),
    growing("OSCIPANE", "N", 1),
    growing("PENLT1NE", "N", 1),
    growing("QINGNE", "N", 1),
    growing("READING1", "N", 2),
    growing("ROSEPETAL2", "N", 1),
    growing("SOSQP1", "N", 2),
    growing("SREADIN3", "N", 2),
    growing("STRTCHDVNE", "N", 1),
    growing("SVANBERG", "N", 1),
    growing("UBH5", "N", 10),
    growing("YAO", "P", 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sets_and_parameters() {
        assert_eq!((size("large-1000"), size("large-5"), size("large")), (Some(1_000), None, None));
        let written = |name: &str| GROWING.iter().find(|growing| growing.name == name).map(|growing| growing.at(10_000));
        assert_eq!(written("UBH5").as_deref(), Some("UBH5:N=1000"));
        assert_eq!(written("CLNLBEAM").as_deref(), Some("CLNLBEAM:NI=3333"));
        assert!(GROWING.windows(2).all(|pair| pair[0].name < pair[1].name), "sorted, and each once");
    }
}
