// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Distinguishes one boot of the machine from the next: bytes written, but not synced, stay
/// readable until a restart, even if the process that wrote them ends.
enum BootIdentity {
  /// Linux: /proc/sys/kernel/random/boot_id (random(4)); Apple: kern.bootsessionuuid. If neither
  /// can be read, a value that no other process has, so that no unsynced bytes are trusted.
  static let current: String = {
    #if canImport(Darwin)
      var size = 0
      if sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 {
        var buffer = [UInt8](repeating: 0, count: size)
        if sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0) == 0 {
          return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        }
      }
    #else
      // Files under /proc report no size, so this one is read in one call.
      let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
      if descriptor >= 0 {
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &buffer, buffer.count)
        if count >= 36 { return String(decoding: buffer.prefix(36), as: UTF8.self) }
      }
    #endif
    return "unknown-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
  }()
}
