// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Prevents child processes from inheriting the sockets with which libcurl wakes itself: before
  /// 8.10, libcurl creates them without FD_CLOEXEC, and has no option for it.
  struct InheritableSockets {
    private let before: Set<Int32>

    /// Records the open descriptors, which `close` leaves alone.
    init() { before = Self.descriptors() }

    /// Sets FD_CLOEXEC on the socket pairs opened since then (socketpair(2)).
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
