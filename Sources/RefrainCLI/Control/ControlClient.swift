// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Glibc

  /// A connection of a control socket, on the socket's thread. No call waits.
  struct ControlClient {
    let file: CInt
    let number: Int
    var output = ControlOutput()
    private var input = ControlInput()
    private var watches: [PropertyWatch] = []
    /// The command that the main actor performs.
    private var pending: Pending?
    /// The further commands of a line of text, the next one last.
    private var further: [ControlCommand] = []
    /// Whether the client sends nothing any more.
    private var hasEnded = false
    /// Whether the client receives nothing any more. What it has sent is still performed.
    private var isDeaf = false
    /// Whether nothing more is read: the connection ends when the client has all replies.
    private var isLeaving = false
    private var hasMore = false

    /// The properties that a client may observe.
    private static let watchLimit = 256
    /// The lines that are handled in turn with those of other clients.
    private static let turn = 16

    private struct Pending {
      /// Nil: nobody replies to text.
      var id: ControlValue?
      /// Whether the answer is wanted as a text.
      var isText = false
    }

    init(_ file: CInt, number: Int) { (self.file, self.number) = (file, number) }

    /// Whether the connection is to be closed.
    var isOver: Bool {
      pending == nil && !hasMore && (hasEnded || isLeaving) && output.count == 0
    }

    private var takesCommands: Bool { pending == nil && !output.isSlow && !isLeaving }

    /// The events of poll(2) to wait for; nil: none, not even the end.
    var interest: Int16? {
      var events: Int16 = 0
      if takesCommands, !hasMore, !hasEnded { events |= Int16(POLLIN) }
      if output.count > 0 { events |= Int16(POLLOUT) }
      // The end is reported again and again.
      return events == 0 ? nil : events
    }

    /// Whether there is something to do without waiting.
    var isReady: Bool { hasMore && takesCommands }

    // MARK: Receiving

    /// Reads what is there.
    mutating func receive() {
      guard takesCommands, !hasMore, !hasEnded else { return }
      var bytes = [UInt8](repeating: 0, count: 16 << 10)
      let count = recv(file, &bytes, bytes.count, CInt(MSG_DONTWAIT))
      if count > 0 {
        input.append(bytes[..<count])
        hasMore = true
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        hasEnded = true
      }
    }

    /// Handles lines, until one has to be performed by the main actor.
    mutating func work(
      _ state: ControlState, at now: ContinuousClock.Instant, perform: (ControlCommand) -> Void
    ) {
      for _ in 0..<Self.turn {
        guard hasMore, takesCommands else { return }
        if let command = further.popLast() {
          run(command, for: nil, state, at: now, perform)
          continue
        }
        guard let line = input.next() else {
          hasMore = false
          if input.isTooLong { refuseLongLine() }
          return
        }
        take(line, state, at: now, perform)
      }
    }

    private mutating func refuseLongLine() {
      isLeaving = true
      reply(
        .integer(0),
        .failure(
          ControlRefusal(
            .invalidParameter, "A line has at most \(ControlInput.longestLine) bytes.")))
    }

    private mutating func take(
      _ line: ArraySlice<UInt8>, _ state: ControlState, at now: ContinuousClock.Instant,
      _ perform: (ControlCommand) -> Void
    ) {
      do throws(ControlFailure) {
        switch try ControlLine(line) {
        case .nothing: return
        case .text(let commands): further = commands.reversed()
        case .request(let request):
          do throws(ControlRefusal) {
            let command = try ControlCommand(request.words)
            run(command, for: request.id, state, at: now, perform)
          } catch {
            reply(request.id, .failure(error))
          }
        }
      } catch {
        reply(error.id, .failure(error.refusal))
      }
    }

    /// - Parameter id: nil: nobody replies.
    private mutating func run(
      _ command: ControlCommand, for id: ControlValue?, _ state: ControlState,
      at now: ContinuousClock.Instant, _ perform: (ControlCommand) -> Void
    ) {
      do throws(ControlRefusal) {
        if let answer = try self.answer(command, state) {
          reply(id, .success(answer))
          switch command {
          case .observe, .observeText: look(at: state, now)
          default: break
          }
        } else {
          pending = Pending(id: id)
          if case .getText = command { pending?.isText = true }
          perform(command)
        }
      } catch {
        reply(id, .failure(error))
      }
    }

    /// Returns the answer to a question; nil for an action.
    private mutating func answer(
      _ command: ControlCommand, _ state: ControlState
    ) throws(ControlRefusal) -> ControlValue? {
      switch command {
      case .get(.audioDevices), .getText(.audioDevices): return nil
      case .get(let property): return try value(of: property, state)
      case .getText(let property): return .string(try value(of: property, state).propertyText)
      case .getPart(let part): return try value(of: part, state)
      case .getPartText(let part): return .string(try value(of: part, state).propertyText)
      case .observe(let id, let name):
        try watch(PropertyWatch(id: id, name: name))
        return .null
      case .observeText(let id, let name):
        try watch(PropertyWatch(id: id, name: name, isText: true))
        return .null
      case .unobserve(let id):
        watches.removeAll { $0.id == id }
        return .null
      case .clientName: return .string("ipc_\(number)")
      case .version: return .string(RefrainCommand.configuration.version)
      default: return nil
      }
    }

    private func value(
      of property: ControlProperty, _ state: ControlState
    ) throws(ControlRefusal) -> ControlValue {
      try known(state.value(of: property), property.rawValue)
    }

    private func value(
      of part: ControlPropertyPart, _ state: ControlState
    ) throws(ControlRefusal) -> ControlValue {
      try known(state.value(of: part), part.name)
    }

    private func known(
      _ value: ControlValue?, _ name: String
    ) throws(ControlRefusal) -> ControlValue {
      guard let value else {
        throw ControlRefusal(.propertyUnavailable, "\(name) has no value now.")
      }
      return value
    }

    private mutating func watch(_ watch: PropertyWatch) throws(ControlRefusal) {
      guard watches.count < Self.watchLimit else {
        throw ControlRefusal(
          .commandFailed, "\(Self.watchLimit) properties are observed: leave some.")
      }
      watches.append(watch)
    }

    // MARK: Sending

    /// - Parameter id: nil: nobody replies.
    private mutating func reply(_ id: ControlValue?, _ answer: ControlAnswer) {
      if let id, !isDeaf { output.add(ControlReply(id: id, answer: answer).value) }
    }

    /// Answers the command that the main actor has performed.
    mutating func finish(_ answer: ControlAnswer) {
      guard let command = pending else { return }
      pending = nil
      guard command.isText else { return reply(command.id, answer) }
      reply(command.id, answer.map { value in ControlValue.string(value.propertyText) })
    }

    /// Adds an event for the client. One that leaves too many unread is cut off.
    mutating func add(event line: String, isRepeated: Bool) {
      guard !isDeaf, !isLeaving else { return }
      if !output.add(event: line, isRepeated: isRepeated) { cutOff() }
    }

    private mutating func cutOff() {
      (isLeaving, hasMore) = (true, false)
      deafen()
    }

    private mutating func deafen() {
      isDeaf = true
      output = ControlOutput()
    }

    /// Adds the changes of observed properties, and sends what the system accepts. Returns the time
    /// of the next changes that are held back.
    mutating func report(
      _ state: ControlState, _ now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
      while true {
        let next = look(at: state, now)
        let wasSlow = output.isSlow
        flush()
        // What a slow client was spared is added when it has caught up: nothing else may happen
        // that would be a reason to look again.
        if !wasSlow || output.isSlow { return next }
      }
    }

    /// Adds the changes of observed properties. Returns the time of the next ones that are held
    /// back.
    @discardableResult
    mutating func look(
      at state: ControlState, _ now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
      var next: ContinuousClock.Instant?
      guard !isDeaf, !isLeaving else { return nil }
      for index in watches.indices {
        // A slow client sees the latest values later.
        guard !output.isSlow else { return next }
        switch watches[index].look(at: state, at: now) {
        case .same: break
        case .later(let time): next = min(next ?? time, time)
        case .changed(let value): output.add(watches[index].line(value))
        }
      }
      return next
    }

    /// Sends what the system accepts at once.
    mutating func flush() {
      while output.count > 0 {
        let count = output.unsent.withUnsafeBytes {
          send(file, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        if count >= 0 {
          output.remove(count)
        } else if errno == EAGAIN {
          return
        } else if errno != EINTR {
          deafen()
        }
      }
    }
  }
#endif
