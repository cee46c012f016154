// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Keeps the sockets from the programs that this one starts, with which libcurl wakes itself: before
  /// 8.10 it makes them without FD_CLOEXEC, and there is no option for it.
  struct InheritableSockets {
    private let before: Set<Int32>

    /// What is open now is left alone.
    init() { before = Self.descriptors() }

    /// Of the pairs of sockets that came since then, none is inherited any more (socketpair(2)).
    func close() {
      for descriptor in Self.descriptors().subtracting(before) {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isSocket = withUnsafeMutablePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            getsockname(descriptor, $0, &length) == 0
          }
        }
        guard isSocket, address.ss_family == sa_family_t(AF_UNIX) else { continue }
        let flags = fcntl(descriptor, F_GETFD)
        if flags >= 0 { _ = fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) }
      }
    }

    private static func descriptors() -> Set<Int32> {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return Set(names.compactMap { Int32($0) })
    }
  }
#endif
