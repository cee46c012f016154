// SPDX-License-Identifier: MIT
#if os(Linux)
  import CLinuxSystem

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// The sockets, and a bell, that one thread waits for: epoll(7).
  final class EventQueue: Sendable {
    struct Event {
      var descriptor: Int32
      var isReadable: Bool
      var isWritable: Bool
      var isBroken: Bool
    }

    let bell: EventBell
    private let descriptor: Int32

    /// - Throws: `TransportError` if there are no descriptors left.
    init() throws {
      descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
      let bell = EventBell()
      guard descriptor >= 0, let bell else {
        let reason = String(cString: strerror(errno))
        if descriptor >= 0 { close(descriptor) }
        throw TransportError(.unreachable, "No request can be sent: \(reason).")
      }
      self.bell = bell
      watch(bell.descriptor, forReading: true, forWriting: false)
    }

    deinit { close(descriptor) }

    /// Watches a socket; without both flags, stops watching it.
    ///
    /// - Parameter isNew: whether the socket is not watched yet, as far as known.
    func watch(_ socket: Int32, forReading: Bool, forWriting: Bool, isNew: Bool = true) {
      var event = epoll_event()
      if forReading { event.events |= EPOLLIN.rawValue }
      if forWriting { event.events |= EPOLLOUT.rawValue }
      event.data.fd = socket
      guard event.events != 0 else {
        epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
        return
      }
      // A closed socket is no longer watched either, and its number may belong to another by now.
      let (likely, other) = isNew ? (EPOLL_CTL_ADD, EPOLL_CTL_MOD) : (EPOLL_CTL_MOD, EPOLL_CTL_ADD)
      if epoll_ctl(descriptor, likely, socket, &event) != 0, errno == ENOENT || errno == EEXIST {
        epoll_ctl(descriptor, other, socket, &event)
      }
    }

    /// Waits for the next events.
    ///
    /// - Parameter milliseconds: the longest wait; -1: unlimited.
    func next(within milliseconds: Int32) -> [Event] {
      withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
        let count = epoll_wait(
          descriptor, events.baseAddress, Int32(events.count), milliseconds)
        return events.prefix(Int(max(count, 0))).map { event in
          Event(
            descriptor: event.data.fd,
            isReadable: event.events & EPOLLIN.rawValue != 0,
            isWritable: event.events & EPOLLOUT.rawValue != 0,
            isBroken: event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0)
        }
      }
    }
  }

  /// Wakes the waiting thread: eventfd(2).
  final class EventBell: Sendable {
    let descriptor: Int32

    fileprivate init?() {
      descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      guard descriptor >= 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// May be called on any thread.
    func ring() {
      var one: UInt64 = 1
      // Fails only after 2^64 rings.
      _ = write(descriptor, &one, 8)
    }

    func silence() {
      var count: UInt64 = 0
      _ = read(descriptor, &count, 8)
    }
  }
#endif
