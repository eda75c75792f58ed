//! Annotations about buffers and temporary files. Sizes that contradict each other are left to
//! nginx's test.

use crate::Limits;
use crate::annotation::{
    Ceiling, Context, Draft, Elsewhere, Family, Form, Gives, Row, Scope, Trust, Unit, built_in, put,
};
use crate::value::{ON_OFF, byte_size, integer, on_off};
use ingressd_model::catalogue::{
    CLIENT_BODY_BUFFER_SIZE, CLIENT_MAX_BODY_SIZE, PROXY_BUFFER_SIZE, PROXY_BUFFERING, PROXY_BUFFERS,
    PROXY_BUSY_BUFFERS_SIZE, PROXY_MAX_TEMP_FILE_SIZE, PROXY_REQUEST_BUFFERING,
};
use ingressd_model::{Argument, ByteSize, Refused};

/// The largest buffer in memory: each connection has its own.
const LARGEST_BUFFER: u64 = 1 << 30;
/// The largest size for the network or a file: a larger value is a mistake.
const LARGEST_SIZE: u64 = 1 << 50;
/// The fewest buffers for one response.
const FEWEST_BUFFERS: u64 = 2;
/// The most buffers for one response.
const MOST_BUFFERS: u64 = 4096;
/// The value of one of the two keys when only the other is set.
const BUFFERS: &str = "4";
const BUFFER_SIZE: ByteSize = ByteSize(4096);

const BUFFER: Form = Form::Size { least: 1, most: LARGEST_BUFFER };
const SIZE: Form = Form::Size { least: 0, most: LARGEST_SIZE };

pub static FAMILY: Family = Family {
    title: "Sizes and buffers",
    rows: &[
        Row::new("client-body-buffer-size", BUFFER)
            .elsewhere(&[Elsewhere::Refuse])
            .ceiling(size_ceiling("limits.body-buffer", |limits| limits.body_buffer.0))
            .documentation("Memory for a request body before it goes to a file.")
            .tries(&[
                ("16k", Gives::Sets("client_body_buffer_size 16k;")),
                ("0", Gives::Refused("not from 1")),
                ("16 KB", Gives::Refused("not a size")),
                ("1g", Gives::Cut("client_body_buffer_size 1m;")),
            ])
            .directive(&CLIENT_BODY_BUFFER_SIZE, buffer),
        Row::new("proxy-body-size", SIZE)
            .default("1m")
            .trust(Trust::Medium)
            .ceiling(Ceiling::Setting {
                key: "limits.body-size",
                unit: Unit::Bytes,
                zero_is_unlimited: true,
                of: |limits| limits.body_size.0,
            })
            .documentation(
                "Largest request body; larger ones are answered 413. With 0 only the administrator's ceiling applies.",
            )
            .tries(&[
                ("8m", Gives::Sets("client_max_body_size 8m;")),
                ("0", Gives::Cut("client_max_body_size 16384m;")),
                ("1G", Gives::Sets("client_max_body_size 1024m;")),
                ("8 MB", Gives::Refused("not a size")),
                ("-1", Gives::Refused("not a size")),
            ])
            .directive(&CLIENT_MAX_BODY_SIZE, size),
        Row::new("proxy-buffer-size", BUFFER)
            .scope(Scope::Upstream)
            .ceiling(size_ceiling("limits.answer-buffers", |limits| limits.answer_buffers.0 / 4))
            .documentation(
                "Size of the buffer for the headers of a response, and of each other buffer. Raise it for responses \
                 with large headers or cookies.",
            )
            .tries(&[
                ("8k", Gives::Sets("proxy_buffer_size 8k;")),
                ("8k", Gives::Sets("proxy_buffers 4 8k;")),
                ("1m", Gives::Cut("proxy_buffers 4 512k;")),
                ("0", Gives::Refused("not from 1")),
            ])
            .part(|draft, entry| {
                let size = byte_size(entry.value, 1, LARGEST_BUFFER)?;
                draft.buffers.size = Some((size, entry.origin()));
                draft.directive(&PROXY_BUFFER_SIZE, vec![Argument::Size(size)], entry.origin());
                Ok(())
            }),
        Row::new("proxy-buffering", ON_OFF)
            .scope(Scope::Upstream)
            .documentation(
                "Whether nginx buffers responses before it sends them to the client. The default is on, and off on \
                 hosts of the ingress-nginx dialect.",
            )
            .tries(&[
                ("on", Gives::Sets("proxy_buffering on;")),
                ("off", Gives::Sets("proxy_buffering off;")),
                ("true", Gives::Refused("not on or off")),
            ])
            .directive(&PROXY_BUFFERING, switch),
        Row::new("proxy-buffers-number", Form::Integer { least: FEWEST_BUFFERS, most: MOST_BUFFERS })
            .scope(Scope::Upstream)
            // As many buffers as fit, whatever their size is.
            .ceiling(Ceiling::Setting {
                key: "limits.answer-buffers",
                unit: Unit::Count,
                zero_is_unlimited: false,
                of: |limits| limits.answer_buffers.0 / BUFFER_SIZE.0,
            })
            .documentation(
                "Number of buffers for one response, each of proxy-buffer-size; 4 where only proxy-buffer-size is set.",
            )
            .tries(&[
                ("8", Gives::Sets("proxy_buffers 8 4k;")),
                ("5000", Gives::Cut("proxy_buffers 512 4k;")),
                ("0", Gives::Refused("from 2")),
                ("-4", Gives::Refused("from 2")),
            ])
            .part(|draft, entry| {
                put(&mut draft.buffers.count, number_of_buffers(entry.value).map(|count| (count, entry.origin())))
            }),
        Row::new("proxy-busy-buffers-size", BUFFER)
            .scope(Scope::Upstream)
            .ceiling(size_ceiling("limits.answer-buffers", |limits| limits.answer_buffers.0 / 2))
            .documentation(
                "How much nginx may be sending to the client while it still reads the response. It must be at least \
                 one buffer, and less than all buffers but one.",
            )
            .tries(&[
                ("8k", Gives::Sets("proxy_busy_buffers_size 8k;")),
                ("1g", Gives::Cut("proxy_busy_buffers_size 1m;")),
                ("all", Gives::Refused("not a size")),
            ])
            .directive(&PROXY_BUSY_BUFFERS_SIZE, buffer),
        Row::new("proxy-max-temp-file-size", SIZE)
            .default("1024m")
            .scope(Scope::Upstream)
            .ceiling(size_ceiling("limits.answer-file", |limits| limits.answer_file.0))
            .documentation(
                "Largest temporary file for a response that does not fit into the buffers; with 0 there is none.",
            )
            .tries(&[
                ("1024m", Gives::Sets("proxy_max_temp_file_size 1024m;")),
                ("100g", Gives::Cut("proxy_max_temp_file_size 1024m;")),
                ("0", Gives::Sets("proxy_max_temp_file_size 0;")),
                ("99999999999999999999", Gives::Refused("not a size")),
            ])
            .directive(&PROXY_MAX_TEMP_FILE_SIZE, size),
        Row::new("proxy-request-buffering", ON_OFF)
            .default("on")
            .scope(Scope::Upstream)
            .documentation("Whether nginx reads the whole request body before it sends the request to the backend.")
            .tries(&[("off", Gives::Sets("proxy_request_buffering off;")), ("On", Gives::Refused("not on or off"))])
            .directive(&PROXY_REQUEST_BUFFERING, switch),
    ],
    finish,
};

fn buffer(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Size(byte_size(value, 1, LARGEST_BUFFER)?)])
}

fn size(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Size(byte_size(value, 0, LARGEST_SIZE)?)])
}

fn switch(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Switch(on_off(value)?)])
}

const fn size_ceiling(key: &'static str, of: fn(&Limits) -> u64) -> Ceiling {
    Ceiling::Setting { key, unit: Unit::Bytes, zero_is_unlimited: false, of }
}

fn number_of_buffers(value: &str) -> Result<u64, Refused> {
    integer(value, FEWEST_BUFFERS, MOST_BUFFERS)
}

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let (count, size) = (draft.buffers.count.take(), draft.buffers.size.take());
    let Some(origin) = count.as_ref().map(|(_, origin)| origin).or(size.as_ref().map(|(_, origin)| origin)).cloned()
    else {
        return;
    };
    let count = count.map_or_else(|| built_in(BUFFERS, number_of_buffers), |(count, _)| count);
    let size = size.map_or(BUFFER_SIZE, |(size, _)| size);
    let ceiling = context.options.limits.answer_buffers.0;
    // A buffer is at most a quarter of all, so that there are at least four.
    let fitting = if ceiling > 0 { (ceiling / size.0).max(FEWEST_BUFFERS) } else { count };
    if count > fitting {
        let (asked, instead) = (format!("{count} buffers of {size}"), format!("{fitting} buffers"));
        draft.above_ceiling(origin.clone(), &asked, &instead, "limits.answer-buffers");
    }
    let count = count.min(fitting);
    draft.directive(&PROXY_BUFFERS, vec![Argument::Number(count), Argument::Size(size)], origin);
}
