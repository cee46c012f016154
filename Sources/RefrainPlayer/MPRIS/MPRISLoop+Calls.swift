// SPDX-License-Identifier: MIT
#if os(Linux)
  import CSDBus
  import Glibc

  extension MPRISLoop {
    func take(_ call: BusMessage, _ error: UnsafeMutablePointer<sd_bus_error>) -> CInt {
      guard let member = sd.message_get_member(call.pointer),
        let method = MPRISMethod(rawValue: String(cString: member))
      else { return -EINVAL }
      do {
        let arguments = try method.arguments.map { try call.read($0.signature) }
        // Questions are answered here, as the properties are: the main actor goes on playing.
        if case (.getTracksMetadata, .paths(let tracks)) = (method, arguments.first) {
          let metadata = mailbox.state.metadata(ofTracks: tracks)
          return try answer(call) { try $0.append(metadata) }
        }
        if case .refused(let refusal) = owner.perform(.method(method, arguments)) {
          return refuse(refusal, error)
        }
        return try answer(call) { _ in }
      } catch {
        return (error as? BusError)?.number ?? -EIO
      }
    }

    private func answer(_ call: BusMessage, _ write: (BusMessage) throws -> Void) throws -> CInt {
      var created: OpaquePointer?
      try check(sd.message_new_method_return(call.pointer, &created))
      guard let reply = created else { return -ENOMEM }
      defer { _ = sd.message_unref(reply) }
      try write(BusMessage(sd: sd, pointer: reply))
      try check(sd.send(bus, reply, nil))
      return 1
    }

    func write(_ property: String, to reply: BusMessage) -> CInt {
      guard let property = MPRISProperty(rawValue: property) else { return -EINVAL }
      do {
        try reply.append(mailbox.state.value(of: property))
        return 1
      } catch {
        return (error as? BusError)?.number ?? -EIO
      }
    }

    func set(
      _ property: String, to value: BusMessage, _ error: UnsafeMutablePointer<sd_bus_error>
    ) -> CInt {
      guard let property = MPRISProperty(rawValue: property) else { return -EINVAL }
      do {
        let value = try value.read(property.signature)
        if case .refused(let refusal) = owner.perform(.set(property, value)) {
          return refuse(refusal, error)
        }
        return 1
      } catch {
        return (error as? BusError)?.number ?? -EIO
      }
    }

    private func refuse(
      _ refusal: MPRISRefusal, _ error: UnsafeMutablePointer<sd_bus_error>
    ) -> CInt {
      sd.error_set(error, refusal.kind.rawValue, refusal.text.onBus)
    }
  }

  /// The main actor's answer to a client's call.
  enum MPRISAnswer: Sendable, Hashable {
    case done
    case refused(MPRISRefusal)
  }

  // MARK: Functions that sd-bus calls, on the loop's thread

  private func loop(_ userdata: UnsafeMutableRawPointer?) -> MPRISLoop? {
    userdata.map { Unmanaged<MPRISLoop>.fromOpaque($0).takeUnretainedValue() }
  }

  let takeCall: sd_bus_message_handler_t = { message, userdata, error in
    guard let loop = loop(userdata) else { return -EINVAL }
    return loop.take(BusMessage(sd: loop.sd, pointer: message), error)
  }

  let takeNameReply: sd_bus_message_handler_t = { message, userdata, _ in
    guard let loop = loop(userdata) else { return -EINVAL }
    loop.takeName(BusMessage(sd: loop.sd, pointer: message))
    return 1
  }

  let readProperty: sd_bus_property_get_t = { _, _, _, name, reply, userdata, _ in
    guard let loop = loop(userdata) else { return -EINVAL }
    return loop.write(String(cString: name), to: BusMessage(sd: loop.sd, pointer: reply))
  }

  let takeProperty: sd_bus_property_set_t = { _, _, _, name, value, userdata, error in
    guard let loop = loop(userdata) else { return -EINVAL }
    return loop.set(String(cString: name), to: BusMessage(sd: loop.sd, pointer: value), error)
  }
#endif
