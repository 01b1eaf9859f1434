//! Memory is computed before it is allocated: what does not fit is refused in a sentence, instead of ending the program.

use std::fmt;
use std::sync::OnceLock;

/// How much memory may be used, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit(pub u64);

/// Where the size of the machine is unknown.
const USUAL: u64 = 8 << 30;

/// Addresses that the threads of a run reserve, for their stacks and for what they may allocate, and hardly use; where few are left, fewer.
const RESERVED: u64 = 160 << 20;

impl MemoryLimit {
    /// Three quarters of the memory of this machine, or of what this process may use, by its control group or by what its limits (`ulimit -v`)
    /// leave, if that is less. Where nothing is known, 8 GiB.
    pub fn of_this_machine() -> Self {
        let own = std::fs::read_to_string("/proc/self/limits").ok().and_then(|text| address_space(&text)).map(not_taken);
        MemoryLimit(of_machine_and_group().into_iter().chain(own).min().unwrap_or(USUAL) / 4 * 3)
    }

    /// So many bytes, or those of this machine if nothing is said.
    pub fn or_of_this_machine(bytes: Option<u64>) -> Self {
        bytes.map_or_else(MemoryLimit::of_this_machine, MemoryLimit)
    }

    /// Refuses what needs more than the limit; `what` names it when it is too large.
    pub fn check(self, needed: u128, what: impl FnOnce() -> String) -> Result<(), TooLarge> {
        match needed <= u128::from(self.0) {
            true => Ok(()),
            false => Err(TooLarge { what: what(), needed, limit: self.0 }),
        }
    }
}

/// What the machine has, or the control group may use: read once, since reading takes longer than a small problem does. A process may change its own
/// limits, which are read anew.
fn of_machine_and_group() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes(&text, "MemTotal:"));
        let groups = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let group = groups.iter().filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
        machine.into_iter().chain(group).min()
    })
}

/// The bytes of a line like `MemTotal:   16318480 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes.saturating_mul(1024))
}

/// `Max address space         4096000000           unlimited            bytes`, of which the first number holds.
fn address_space(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What is left of so many addresses: the program itself, the stacks of its threads and what it has allocated take some already.
fn not_taken(addresses: u64) -> u64 {
    let taken = std::fs::read_to_string("/proc/self/status").ok().and_then(|text| kibibytes(&text, "VmSize:"));
    let left = addresses.saturating_sub(taken.unwrap_or(0));
    left.saturating_sub(RESERVED).max(left / 8)
}

/// Something that does not fit into memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} would need {}, more than the limit of {} on memory (--memory-limit, limits.memory)", Bytes(*needed), Bytes(u128::from(*limit)))]
pub struct TooLarge {
    /// What it is.
    pub what: String,
    /// The bytes that it needs.
    pub needed: u128,
    /// The bytes that there may be.
    pub limit: u64,
}

/// A number of bytes, as in `1.5 GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u128);

impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
        let mut size = self.0 as f64;
        let mut unit = "bytes";
        for larger in units {
            if size < 999.5 {
                break;
            }
            size /= 1000.0;
            unit = larger;
        }
        match unit == "bytes" || size >= 99.5 {
            true => write!(out, "{size:.0} {unit}"),
            false => write!(out, "{size:.1} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable_and_name_the_limit() {
        let told = [0, 999, 1000, 1_500_000, 720_000_000_000, 10u128.pow(30)].map(|size| Bytes(size).to_string());
        assert_eq!(told, ["0 bytes", "999 bytes", "1.0 kB", "1.5 MB", "720 GB", "1000000000000 EB"]);
        let limit = MemoryLimit(1 << 30);
        assert_eq!(limit.check(1 << 30, String::new), Ok(()));
        let error = limit.check(720_000_000_000, || "the Jacobian of X".to_string()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the Jacobian of X would need 720 GB, more than the limit of 1.1 GB on memory (--memory-limit, limits.memory)"
        );
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert_eq!(kibibytes("MemFree: 1 kB\nMemTotal:       16318480 kB\n", "MemTotal:"), Some(16_318_480 * 1024));
        assert_eq!(kibibytes("MemTotal: much", "MemTotal:"), None);
        assert_eq!(not_taken(0), 0);
        // A test takes more than nothing and less than all addresses.
        if cfg!(target_os = "linux") {
            assert!((1 << 46..1 << 47).contains(&not_taken(1 << 47)));
        }
        let limits = |own: &str| {
            format!("Max processes 12 12 processes\nMax address space         {own}            unlimited   bytes\n")
        };
        assert_eq!(address_space(&limits("4096000000")), Some(4_096_000_000));
        assert_eq!(address_space(&limits("unlimited")), None);
        assert!(MemoryLimit::of_this_machine().0 > 1 << 26);
    }
}
